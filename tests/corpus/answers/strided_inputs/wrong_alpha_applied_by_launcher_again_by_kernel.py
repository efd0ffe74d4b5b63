# label: wrong
# title: q = q * scale o = torch.empty(
# says: alpha is applied by the launcher and again by the kernel.
# names: alpha applied twice; one edit
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    o = torch.empty((Z, H, N_Q, D), device=q.device, dtype=q.dtype)
# --- with
    q = q * scale
    o = torch.empty((Z, H, N_Q, D), device=q.device, dtype=q.dtype)
