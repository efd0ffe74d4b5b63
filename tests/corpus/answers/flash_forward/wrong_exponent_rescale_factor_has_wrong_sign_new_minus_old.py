# label: wrong
# title: alpha = tl.math.exp2(m_ij - m_i)
# says: The exponent of the rescale factor has the wrong sign: new − old.
# names: rescale with the wrong sign
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
        alpha = tl.math.exp2(m_i - m_ij)
# --- with
        alpha = tl.math.exp2(m_ij - m_i)
