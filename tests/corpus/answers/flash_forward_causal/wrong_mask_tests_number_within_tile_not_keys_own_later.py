# label: wrong
# title: tl.arange(0, BK)[None, :] <= limit[:, None]
# says: The mask tests the number within the tile, not the key's own: later tiles are hidden too little.
# names: leak from the future
# base: right_early_return_where_block_sees_nothing_heads_first_in

# --- replace
        s = tl.where(c[None, :] <= limit[:, None], alpha * tl.dot(q, k.T, input_precision="ieee"), float("-inf"))
# --- with
        s = tl.where(tl.arange(0, BK)[None, :] <= limit[:, None], alpha * tl.dot(q, k.T, input_precision="ieee"), float("-inf"))
