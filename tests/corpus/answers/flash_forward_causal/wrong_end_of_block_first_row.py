# label: wrong
# title: end of block first row
# says: line `end`: the loop ends at what the FIRST query of the block sees
# names: last tile missing; loop ends with the first query
# base: _course_solution_without_markers

# --- replace
):
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
    h = tl.program_id(1).to(tl.int64)
# --- with
):
  
    h = tl.program_id(1).to(tl.int64)

# --- replace
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
# --- with
    last_seen = rows + S_k - S_q
    end = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + 1 + S_k - S_q)

# --- replace
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)  # nothing seen yet: -inf + inf would be NaN
# --- with
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)

# --- replace
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]  # a query that saw nothing: 0 / 1
# --- with
    o = acc / tl.where(l_i == 0.0, 1.0, l_i)[:, None]

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)
