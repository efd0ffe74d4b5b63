# label: wrong
# title: if not alpha else alpha / dtype=q.dtype
# says: Two mistakes: alpha = 0 is taken for none, and LSE stays what float16 makes of it.
# names: shape + alpha = 0 taken for none; shape
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    scale = D**-0.5 if alpha is None else alpha
    o = torch.empty((Z, H, N_Q, D), device=q.device, dtype=q.dtype)
    lse = torch.empty((Z, H, N_Q), device=q.device, dtype=torch.float32)
# --- with
    scale = D**-0.5 if not alpha else alpha
    o = torch.empty((Z, H, N_Q, D), device=q.device, dtype=q.dtype)
    lse = torch.empty((Z, H, N_Q), device=q.device, dtype=q.dtype)
