# label: wrong
# title: pd[:, None]
# says: Σ exp dP was not divided by l: delta is l times too large.
# names: delta not divided by l
# base: right_recomputes_lse_delta_sum_p_dp_itself_uses_neither

# --- replace
        ds = a * p * (dp - (pd / l)[:, None])
# --- with
        ds = a * p * (dp - pd[:, None])
