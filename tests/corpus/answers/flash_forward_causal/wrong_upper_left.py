# label: wrong
# title: upper left
# says: lines `last_seen` and `end`: the mask is aligned top left (j ≤ i) as in F.scaled_dot_product_attention
# names: top-left alignment
# base: _course_solution_without_markers

# --- replace
    last_seen = rows + S_k - S_q  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)  # one past what the last query sees
# --- with
    last_seen = rows  # per query; negative: it sees no key
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q)  # one past what the last query sees
