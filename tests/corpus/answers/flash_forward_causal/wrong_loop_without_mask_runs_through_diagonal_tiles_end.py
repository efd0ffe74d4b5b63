# label: wrong
# title: tl.minimum(N, (start_m + 1) * BLOCK_M + shift)
# says: The loop without a mask runs through the diagonal tiles: its end is that of the block's last query.
# names: only whole tiles are hidden; diagonal tiles; leak from the future
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
    whole = tl.maximum(0, tl.minimum(N, start_m * BLOCK_M + shift + 1)) // BLOCK_N * BLOCK_N
# --- with
    whole = tl.maximum(0, tl.minimum(N, (start_m + 1) * BLOCK_M + shift)) // BLOCK_N * BLOCK_N
