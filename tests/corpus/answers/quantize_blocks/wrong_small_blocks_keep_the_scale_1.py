# label: wrong
# title: small blocks keep the scale 1
# says: The scale is never below 1, so small numbers lose their bits.
# names: only large blocks are scaled
# base: right_the_reciprocal_and_the_largest_of_both_ends

# --- replace
    inv = tl.where(top > 0, 448.0 / top, 1.0)
# --- with
    inv = tl.where(top > 448.0, 448.0 / top, 1.0)
