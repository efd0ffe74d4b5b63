# label: wrong
# title: the maximum of the scores and 0
# says: The running maximum starts at 0: where all scores lie far below, every exponential vanishes and 0 is
#   divided by 0.
# names: zero over zero; padding enters the maximum
# base: _three_passes

# --- replace
    top = tl.full((CHUNK,), -float("inf"), tl.float32)
# --- with
    top = tl.zeros((CHUNK,), tl.float32)
