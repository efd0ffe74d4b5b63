# label: wrong
# title: q, K, V, whole + BLOCK_N, end, scale2
# says: The loop with the mask starts one tile late: the first tile on the diagonal is skipped.
# names: a tile on the diagonal is skipped; diagonal tiles; never read
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, whole, end, scale2, offs_m, offs_d, shift, N, D,
# --- with
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, whole + BLOCK_N, end, scale2, offs_m, offs_d, shift, N, D,
