# label: right
# title: the kernel's parameters are exchanged instead of the launch's
# base: _clinic_10_kernel

# --- replace
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k,
# --- with
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, S_k, S_q,
