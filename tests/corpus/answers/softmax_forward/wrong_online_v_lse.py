# label: wrong
# title: online, v - lse
# says: You stored the logarithm of the probabilities.
# names: logarithm of the softmax
# base: right_an_online_scan_in_a_helper_then_exp_s_minus_lse

# --- replace
        tl.store(p_ptr + i * pm + idx, tl.exp(v - lse), mask=idx < n)
# --- with
        tl.store(p_ptr + i * pm + idx, v - lse, mask=idx < n)
