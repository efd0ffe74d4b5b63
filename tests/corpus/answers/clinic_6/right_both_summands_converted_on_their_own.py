# label: right
# title: both summands converted on their own
# base: _clinic_6_kernel

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i), mask=in_queries)
# --- with
    tl.store(lse_ptr + rows, m_i / log2e + tl.log(l_i), mask=in_queries)
