# label: wrong
# title: strides from shapes
# says: The tensors are viewed as if [B, H, S, D] lay in memory in this order.
# names: every tensor taken to be contiguous; out_of_bounds
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
# --- with
        H * N_Q * D, N_Q * D, D, 1,
        H * k.shape[2] * D, k.shape[2] * D, D, 1,
        H * k.shape[2] * D, k.shape[2] * D, D, 1,
