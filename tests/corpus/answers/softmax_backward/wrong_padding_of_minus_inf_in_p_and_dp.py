# label: wrong
# title: padding of −inf in p and dp
# says: Padding of −inf, taken over from the forward kernel, makes the inner product infinite.
# names: padding of −inf
# base: right_p_dp_reused_p_taken_out_of_the_bracket

# --- replace
    p = tl.load(p_ptr + r * p0 + c * p1, mask=live, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + r * g0 + c * g1, mask=live, other=0.0).to(tl.float32)
# --- with
    p = tl.load(p_ptr + r * p0 + c * p1, mask=live, other=-float("inf")).to(tl.float32)
    g = tl.load(g_ptr + r * g0 + c * g1, mask=live, other=-float("inf")).to(tl.float32)
