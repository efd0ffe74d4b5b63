# label: wrong
# title: pd = pd + tl.sum
# says: Σ P dP is not rescaled when the maximum moves.
# names: not rescaled
# base: right_recomputes_lse_delta_sum_p_dp_itself_uses_neither

# --- replace
        pd = pd * f + tl.sum(e * dp, 1)
# --- with
        pd = pd + tl.sum(e * dp, 1)
