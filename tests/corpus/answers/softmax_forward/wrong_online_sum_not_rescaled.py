# label: wrong
# title: online, sum not rescaled
# says: The old sum is not rescaled when the maximum moves.
# names: not rescaled; rows do not sum to 1; l not rescaled
# base: right_an_online_scan_in_a_helper_then_exp_s_minus_lse

# --- replace
        d = d * tl.exp(m - safe) + tl.sum(tl.exp(v - safe), 0)
# --- with
        d = d + tl.sum(tl.exp(v - safe), 0)
