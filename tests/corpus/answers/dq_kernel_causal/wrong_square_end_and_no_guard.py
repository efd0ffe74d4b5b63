# label: wrong
# title: square end and no guard
# says: two slips: the loop's `end` lacks the offset S_k − S_q (with more keys than queries visible keys are
#   left out, with fewer needless tiles are visited), and lse = −inf of rows that see nothing is not guarded,
#   so their p is NaN.
# names: loop end without S_k − S_q; loop end without S_k − S_q + no guard for queries that see nothing
# base: _course_solution_without_markers

# --- replace
    lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: exp(-inf - inf) = 0, not NaN
# --- with

# --- replace
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
# --- with
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q)  # nothing to the right of the diagonal

# --- replace
        seen = in_keys[None, :] & (columns[None, :] <= last_seen[:, None])
        p = tl.exp(tl.where(seen, s, -float("inf")) - lse_i[:, None])
# --- with
        causal = columns[None, :] - rows[:, None] <= S_k - S_q
        s = tl.where(causal & in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
