# label: wrong
# title: rows, the maximum over axis 0
# says: The reduction runs over the tile's rows instead of its columns.
# names: crashed
# base: right_four_rows_per_program

# --- replace
        m_new = tl.maximum(m_i, tl.max(x, 1))
# --- with
        m_new = tl.maximum(m_i, tl.max(x, 0))

# --- replace
    lse_rows[(triton.cdiv(M, 4),)](x, lse, M, N, x.stride(0), x.stride(1), BM=4, BN=16)
# --- with
    lse_rows[(triton.cdiv(M, 4),)](x, lse, M, N, x.stride(0), x.stride(1), BM=4, BN=8)
