# label: wrong
# title: lse from log2
# says: line of the last store: LSE is m + log2 l
# names: LSE mixes two bases
# base: _course_solution_without_markers

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log2(l_i), mask=in_queries)
