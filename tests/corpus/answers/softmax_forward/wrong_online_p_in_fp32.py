# label: wrong
# title: online, p in fp32
# says: p is always fp32.
# names: shape
# base: right_an_online_scan_in_a_helper_then_exp_s_minus_lse

# --- replace
    p = torch.zeros(s.shape, dtype=s.dtype)
# --- with
    p = torch.zeros(s.shape)
