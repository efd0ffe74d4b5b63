# label: wrong
# title: (dp - tl.sum(p * dp, 1)[:, None])
# says: delta is summed over the tile at hand, not over the row.
# names: delta of one tile
# base: right_recomputes_lse_delta_sum_p_dp_itself_uses_neither

# --- replace
        ds = a * p * (dp - (pd / l)[:, None])
# --- with
        ds = a * p * (dp - tl.sum(p * dp, 1)[:, None])
