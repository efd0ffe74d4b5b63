# label: wrong
# title: offset never negative
# says: the line `offset = tl.maximum(S_k - S_q, 0)` does not let the offset become negative: with more
#   queries than keys the mask is aligned top-left, and rows that should see nothing see keys.
# names: leak from the future
# base: _course_solution_without_markers

# --- replace
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
# --- with
    offset = tl.maximum(S_k - S_q, 0)  # how many keys lie before query 0
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + offset)

# --- replace
        seen = in_keys[None, :] & (columns[None, :] <= last_seen[:, None])
# --- with
        seen = in_keys[None, :] & (columns[None, :] <= (rows + offset)[:, None])

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
