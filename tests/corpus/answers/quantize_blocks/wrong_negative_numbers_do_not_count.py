# label: wrong
# title: Negative numbers do not count.
# says: Negative numbers do not count.
# names: largest without its sign forgotten
# base: right_the_reciprocal_and_the_largest_of_both_ends

# --- replace
    top = tl.maximum(tl.max(x), -tl.min(x))
# --- with
    top = tl.max(x)
