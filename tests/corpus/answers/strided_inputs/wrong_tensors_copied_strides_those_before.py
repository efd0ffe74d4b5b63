# label: wrong
# title: strides from before .contiguous()
# says: The tensors are copied, and the strides are those of before.
# names: out_of_bounds
# base: right_sixteen_strides_one_by_one_a_loop_of_checks_32_by_16

# --- replace
    Z, H, N_Q, D = q.shape
# --- with
    sk = k.stride()
    k = k.contiguous()
    Z, H, N_Q, D = q.shape

# --- replace
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
# --- with
        *sk,
