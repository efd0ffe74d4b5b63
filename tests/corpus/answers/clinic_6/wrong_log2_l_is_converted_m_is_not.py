# label: wrong
# title: log2(l) / log2e alone
# says: log2 l is converted, m is not.
# names: only l is converted
# base: _clinic_6_kernel

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i), mask=in_queries)
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i) / log2e, mask=in_queries)
