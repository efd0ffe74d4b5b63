# label: wrong
# title: the slope without the head
# says: Every head has the first slope.
# names: the first head's slope for all
# base: right_by_hook

# --- replace
    slope = tl.load(extras[0] + h)
# --- with
    slope = tl.load(extras[0])
