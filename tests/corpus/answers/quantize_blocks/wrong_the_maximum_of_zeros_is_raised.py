# label: wrong
# title: the maximum of zeros is raised
# says: A block of zeros must have the scale 1; raising the largest magnitude to 1e-12 gives it 1e-12 / 448.
# names: another scale for a block of zeros
# base: right_the_reciprocal_and_the_largest_of_both_ends

# --- replace
    inv = tl.where(top > 0, 448.0 / top, 1.0)
# --- with
    top = tl.maximum(top, 1e-12)
    inv = 448.0 / top
