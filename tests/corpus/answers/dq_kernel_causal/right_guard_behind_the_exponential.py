# label: right
# title: guard behind the exponential
# base: _course_solution_without_markers

# --- replace
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
# --- with

# --- replace
    lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: exp(-inf - inf) = 0, not NaN
# --- with

# --- replace
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
# --- with
    last_seen = rows + S_k - S_q
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)

# --- replace
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
# --- with
        p = tl.where(seen, tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None]), 0.0)

# --- replace
    STAGES = 2  # as without a mask: two programs share a multiprocessor
# --- with
    STAGES = 2
