# label: wrong
# title: Values are multiplied by the scale.
# says: Values are multiplied by the scale.
# names: multiplied by the scale
# base: right_the_reciprocal_and_the_largest_of_both_ends

# --- replace
    tl.store(Y + i * N + j, (x * inv).to(Y.dtype.element_ty), mask=ok)
# --- with
    tl.store(Y + i * N + j, (x / inv).to(Y.dtype.element_ty), mask=ok)
