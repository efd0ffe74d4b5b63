# label: wrong
# title: m_i + tl.log(l_i)
# says: m is in base 2 and log l is natural: LSE adds two units.
# names: LSE's maximum is in base 2
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    tl.store(L + off_hz * N_Q + offs_m, (m_i + tl.math.log2(l_i)) * 0.69314718, mask=offs_m < N_Q)
# --- with
    tl.store(L + off_hz * N_Q + offs_m, m_i + tl.log(l_i), mask=offs_m < N_Q)
