# label: wrong
# title: alpha in every turn
# says: the line `dq *= alpha` stands inside the loop, so what earlier tiles brought is scaled by alpha again
#   in every step.
# names: alpha in every step
# base: _course_solution_without_markers

# --- replace
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")  # (BLOCK_Q, BLOCK_K)
        s = tl.where(in_keys[None, :], s, -float("inf"))  # exp(0 - lse) of a padded key may overflow
        p = tl.exp(s - lse_i[:, None])  # final at once: no maximum to track, nothing to rescale
# --- with
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])

# --- replace
    dq *= alpha  # once per element of dQ, not once per element of dS
# --- with
        dq *= alpha
