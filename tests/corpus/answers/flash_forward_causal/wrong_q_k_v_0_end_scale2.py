# label: wrong
# title: q, K, V, 0, end, scale2
# says: The loop without a mask and the one with it overlap: whole tiles below the diagonal are counted twice.
# names: tiles counted twice
# base: right_loop_split_into_tiles_without_mask_tiles_on_diagonal

# --- replace
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, whole, end, scale2, offs_m, offs_d, shift, N, D,
# --- with
    acc, l_i, m_i = _inner(acc, l_i, m_i, q, K, V, 0, end, scale2, offs_m, offs_d, shift, N, D,
