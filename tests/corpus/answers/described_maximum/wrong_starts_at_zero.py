# label: wrong
# title: the maximum starts at 0
# says: a column of negative numbers has a maximum below 0, and 0 is larger
# names: the maximum starts at 0; one edit
# base: right_by_blocks

# --- replace
    best = tl.full((BLOCK_D,), -float("inf"), tl.float32)
# --- with
    best = tl.zeros((BLOCK_D,), tl.float32)
