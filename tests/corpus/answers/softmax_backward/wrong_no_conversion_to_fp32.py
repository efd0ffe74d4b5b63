# label: wrong
# title: no conversion to fp32
# says: The sum is carried in half precision.
# names: sum in half precision; precision; one edit
# base: right_p_dp_reused_p_taken_out_of_the_bracket

# --- replace
    p = tl.load(p_ptr + r * p0 + c * p1, mask=live, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + r * g0 + c * g1, mask=live, other=0.0).to(tl.float32)
# --- with
    p = tl.load(p_ptr + r * p0 + c * p1, mask=live, other=0.0)
    g = tl.load(g_ptr + r * g0 + c * g1, mask=live, other=0.0)
