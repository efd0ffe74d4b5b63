# label: wrong
# title: end = S_k // BLOCK_K * BLOCK_K / tl.minimum(end, (tl.p
# says: The last, incomplete block of keys is left out.
# names: the last, incomplete block of keys is left out
# base: _course_solution

# --- replace
    end = S_k
    if IS_CAUSAL:
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
# --- with
    end = S_k // BLOCK_K * BLOCK_K
    if IS_CAUSAL:
        end = tl.minimum(end, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
