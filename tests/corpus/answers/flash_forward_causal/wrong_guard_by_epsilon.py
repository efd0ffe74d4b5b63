# label: wrong
# title: guard by epsilon
# says: line o = o_acc / (sm + 1e-6) and tl.log(sm + 1e-6): the guard shifts every row, and a row that saw
#   nothing has no other guard, so its exponent is still -inf + inf = NaN
# names: rows that see nothing are NaN
# base: wrong_end_of_first_query

# --- replace
    end = tl.minimum(S_k, tl.program_id(0) * BLOCK_Q + 1 + S_k - S_q)
# --- with
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)

# --- replace
        shift = tl.where(mx2 == -float("inf"), 0.0, mx2)
# --- with
        shift = mx2

# --- replace
    o = o_acc / tl.where(sm == 0.0, 1.0, sm)[:, None]
# --- with
    o = o_acc / (sm + 1e-6)[:, None]

# --- replace
    tl.store(lse_ptr + qi, mx + tl.log(sm), mask=q_in)
# --- with
    tl.store(lse_ptr + qi, mx + tl.log(sm + 1e-6), mask=q_in)
