# label: wrong
# title: g without other=
# says: dp's padding is undefined and enters the sum.
# names: masked load without other
# base: right_p_dp_reused_p_taken_out_of_the_bracket

# --- replace
    g = tl.load(g_ptr + r * g0 + c * g1, mask=live, other=0.0).to(tl.float32)
# --- with
    g = tl.load(g_ptr + r * g0 + c * g1, mask=live).to(tl.float32)
