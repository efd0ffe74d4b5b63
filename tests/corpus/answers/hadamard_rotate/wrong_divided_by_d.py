# label: wrong
# title: Divided by D.
# says: Divided by D.
# names: divided by D
# base: right_butterflies_of_tl_split_and_tl_join

# --- replace
    tl.store(Y + i[:, None] * D + d[None, :], (y * D ** -0.5).to(Y.dtype.element_ty), mask=ok)
# --- with
    tl.store(Y + i[:, None] * D + d[None, :], (y / D).to(Y.dtype.element_ty), mask=ok)
