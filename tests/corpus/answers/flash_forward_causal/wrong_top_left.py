# label: wrong
# title: top left
# says: the mask is `columns <= rows`, aligned top-left as torch's is_causal, and the loop end follows it:
#   wrong wherever S_q ≠ S_k.
# names: top-left alignment
# base: _course_solution_without_markers

# --- replace
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
# --- with
    last_seen = rows  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q)  # one past what the last query sees
