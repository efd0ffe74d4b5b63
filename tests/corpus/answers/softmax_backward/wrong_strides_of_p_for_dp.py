# label: wrong
# title: strides of p for dp
# says: dp has strides of its own; those of p were used.
# names: strides of p used for dp; out_of_bounds
# base: right_p_dp_reused_p_taken_out_of_the_bracket

# --- replace
    bwd_row[(M,)](p, dp, ds, N, *p.stride(), *dp.stride(), N, BLOCK=max(16, triton.next_power_of_2(N)))
# --- with
    bwd_row[(M,)](p, dp, ds, N, *p.stride(), *p.stride(), N, BLOCK=max(16, triton.next_power_of_2(N)))
