# label: wrong
# title: assert contiguous
# says: The launcher refuses every view that is not contiguous.
# names: crashed; launcher
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    Z, H, N_Q, D = q.shape
# --- with
    assert q.is_contiguous() and k.is_contiguous()
    Z, H, N_Q, D = q.shape
