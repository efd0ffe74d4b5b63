# label: wrong
# title: online, in place
# says: p is written in place, over the caller's s.
# names: changed input; returned input
# base: right_an_online_scan_in_a_helper_then_exp_s_minus_lse

# --- replace
    p = torch.zeros(s.shape, dtype=s.dtype)
# --- with
    s = s.contiguous()
    p = s
