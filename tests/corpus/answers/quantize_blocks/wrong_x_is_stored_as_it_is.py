# label: wrong
# title: x is stored as it is.
# says: x is stored as it is.
# names: x is not scaled
# base: right_the_reciprocal_and_the_largest_of_both_ends

# --- replace
    tl.store(Y + i * N + j, (x * inv).to(Y.dtype.element_ty), mask=ok)
# --- with
    tl.store(Y + i * N + j, x.to(Y.dtype.element_ty), mask=ok)
