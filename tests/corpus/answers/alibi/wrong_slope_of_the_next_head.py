# label: wrong
# title: slopes counted from 1
# says: Head h has slopes[h]; the last head reads beyond the end.
# names: out_of_bounds
# base: right_by_hook

# --- replace
    slope = tl.load(extras[0] + h)
# --- with
    slope = tl.load(extras[0] + h + 1)
