# label: wrong
# title: The signs come last.
# says: The signs come last.
# names: signs after the product
# base: right_butterflies_of_tl_split_and_tl_join

# --- replace
    y = tl.load(X + i[:, None] * sm + d[None, :] * sn, mask=ok, other=0).to(tl.float32) * tl.load(G + d)[None, :]
# --- with
    y = tl.load(X + i[:, None] * sm + d[None, :] * sn, mask=ok, other=0).to(tl.float32)

# --- replace
    tl.store(Y + i[:, None] * D + d[None, :], (y * D ** -0.5).to(Y.dtype.element_ty), mask=ok)
# --- with
    tl.store(Y + i[:, None] * D + d[None, :], (y * D ** -0.5 * tl.load(G + d)[None, :]).to(Y.dtype.element_ty), mask=ok)
