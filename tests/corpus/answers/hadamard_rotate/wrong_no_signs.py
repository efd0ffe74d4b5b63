# label: wrong
# title: No signs.
# says: No signs.
# names: signs forgotten
# base: right_butterflies_of_tl_split_and_tl_join

# --- replace
    y = tl.load(X + i[:, None] * sm + d[None, :] * sn, mask=ok, other=0).to(tl.float32) * tl.load(G + d)[None, :]
# --- with
    y = tl.load(X + i[:, None] * sm + d[None, :] * sn, mask=ok, other=0).to(tl.float32)
