# label: wrong
# title: mask only when square
# says: line `if IS_CAUSAL` of the mask: strict comparison, the diagonal itself is hidden
# names: the diagonal is hidden
# base: _course_solution_without_markers

# --- replace
):
    # if IS_CAUSAL, query i sees the keys j ≤ i + S_k − S_q, else all of them
    h = tl.program_id(1).to(tl.int64)
# --- with
):
  
    h = tl.program_id(1).to(tl.int64)

# --- replace
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # past what the last query sees
# --- with
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)

# --- replace
            s = tl.where(columns[None, :] <= rows[:, None] + S_k - S_q, s, -float("inf"))
# --- with
            s = tl.where(columns[None, :] < rows[:, None] + S_k - S_q, s, -float("inf"))

# --- replace
        if IS_CAUSAL:  # nothing seen yet: -inf + inf would be NaN
# --- with
        if IS_CAUSAL:

# --- replace
        divisor = tl.where(l_i == 0.0, 1.0, l_i)  # a query that saw nothing: 0 / 1
# --- with
        divisor = tl.where(l_i == 0.0, 1.0, l_i)

# --- replace
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)  # -inf + log 0 = -inf
# --- with
    tl.store(lse_ptr + rows, m_i + tl.log(l_i), mask=in_queries)
