# label: wrong
# title: The block is turned round for the loads and not for the store.
# says: The block is turned round for the loads and not for the store.
# names: stored where the program's number says; race
# base: right_strides_as_tuples_tiles_of_32_by_16

# --- replace
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
# --- with
    rows = pid // (B * H) * BM + tl.arange(0, BM)
    mine = (rows < M)[:, None] & live[None, :]
    o = acc / tl.where(l == 0.0, 1.0, l)[:, None]
