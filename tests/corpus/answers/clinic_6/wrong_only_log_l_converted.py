# label: wrong
# title: only log l converted
# says: line m_i + tl.log2(l_i) / log2e: only the logarithm of l goes back to base e, the maximum stays in
#   base 2
# names: only l is converted
# base: _clinic_6_kernel

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i), mask=in_queries)
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i) / log2e, mask=in_queries)
