# label: wrong
# title: (m_i - tl.math.log2(l_i))
# says: LSE is m − log l.
# names: log l is subtracted
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    tl.store(L + off_hz * N_Q + offs_m, (m_i + tl.math.log2(l_i)) * 0.69314718, mask=offs_m < N_Q)
# --- with
    tl.store(L + off_hz * N_Q + offs_m, (m_i - tl.math.log2(l_i)) * 0.69314718, mask=offs_m < N_Q)
