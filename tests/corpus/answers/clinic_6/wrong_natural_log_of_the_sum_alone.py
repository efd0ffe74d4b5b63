# label: wrong
# title: natural log of the sum alone
# says: the last line stores `m_i + tl.log(l_i)`: the logarithm is natural now, while the maximum is still in
#   powers of two.
# names: only l is converted
# base: _clinic_6_kernel

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i), mask=in_queries)
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)
