# label: wrong
# title: the unmasked loop is one key too long
# says: The whole tiles are counted with `+ 2` in place of `+ 1`: a tile whose last key the block's first query
#   does not see goes unmasked.
# names: leak from the future; one edit
# base: right_split_loops_d_padded_to_64_at_least

# --- replace
    whole = tl.maximum(0, tl.minimum(N, start_m * BLOCK_M + shift + 1)) // BLOCK_N * BLOCK_N
# --- with
    whole = tl.maximum(0, tl.minimum(N, start_m * BLOCK_M + shift + 2)) // BLOCK_N * BLOCK_N
