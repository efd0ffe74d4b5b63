# label: wrong
# title: sign of shift
# says: lines `last_seen` and `end`: S_q − S_k instead of S_k − S_q
# names: S_k − S_q with the wrong sign
# base: _course_solution_without_markers

# --- replace
):
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
    h = tl.program_id(1).to(tl.int64)
# --- with
):
  
    h = tl.program_id(1).to(tl.int64)

# --- replace
    lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: exp(-inf - inf) = 0, not NaN
# --- with
    lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)

# --- replace
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
# --- with
    last_seen = rows + S_q - S_k
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_q - S_k)

# --- replace
    STAGES = 2  # as without a mask: two programs share a multiprocessor
# --- with
    STAGES = 2
