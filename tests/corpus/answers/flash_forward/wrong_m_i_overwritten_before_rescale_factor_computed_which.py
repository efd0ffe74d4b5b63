# label: wrong
# title: m_i = m_ij l_ij = tl.sum(p, 1)
# says: m_i is overwritten before the rescale factor is computed, which is therefore always 1.
# names: nothing rescaled
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        l_ij = tl.sum(p, 1)
# --- with
        m_i = m_ij
        l_ij = tl.sum(p, 1)
