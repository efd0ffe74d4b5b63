# label: wrong
# title: pd = pd + tl.sum(tl.where((j < Sk)[None, :], dp, 0.0), 1) / ds = p * (dp - pd[:, None])
# says: Two mistakes: delta is taken from dP without P, and alpha is missing.
# names: delta from dP without P + alpha is missing from dQ
# base: right_recomputes_lse_delta_sum_p_dp_itself_uses_neither

# --- replace
        pd = pd * f + tl.sum(e * dp, 1)
# --- with
        pd = pd + tl.sum(tl.where((j < Sk)[None, :], dp, 0.0), 1)

# --- replace
        ds = a * p * (dp - (pd / l)[:, None])
# --- with
        ds = p * (dp - pd[:, None])
