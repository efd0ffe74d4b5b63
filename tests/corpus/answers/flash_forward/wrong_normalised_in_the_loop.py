# label: wrong
# title: normalised in the loop
# says: acc is divided by l in every step, and the divided sum is carried on.
# names: divided in every step
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        m_i = m_ij
# --- with
        acc = acc / l_i[:, None]
        m_i = m_ij

# --- replace
    acc = acc / l_i[:, None]
# --- with
