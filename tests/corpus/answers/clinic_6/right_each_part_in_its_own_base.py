# label: right
# title: each part in its own base
# base: _clinic_6_kernel

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i), mask=in_queries)
# --- with
    tl.store(lse_ptr + rows, m_i * 0.6931471805599453 + tl.log(l_i), mask=in_queries)  # ln 2
