# label: wrong
# title: online, m + d in place of m + log d
# says: The sum of the exponentials is not in logarithmic units: lse is m + d.
# names: rows do not sum to 1; logarithm of l forgotten
# base: right_an_online_scan_in_a_helper_then_exp_s_minus_lse

# --- replace
    return m + tl.log(d)
# --- with
    return m + d
