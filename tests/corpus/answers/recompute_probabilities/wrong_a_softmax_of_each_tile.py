# label: wrong
# title: a softmax of each tile
# says: Each row of a tile is divided by its own sum, although LSE has normalised the whole row already.
# names: softmax of the tile; one edit
# base: _rebuild

# --- replace
    tl.store(P + r[:, None] * C + c[None, :], e, mask=live)
# --- with
    e = e / tl.sum(e, axis=1)[:, None]
    tl.store(P + r[:, None] * C + c[None, :], e, mask=live)
