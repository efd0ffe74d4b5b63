# label: wrong
# title: half converted
# says: `m_i + tl.log(l_i)` takes the logarithm of l in base e but leaves m_i in base 2
# names: only l is converted
# base: _clinic_6_kernel

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i), mask=in_queries)
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)
