# label: wrong
# title: grid batch before head and narrow block
# says: two faults in the launch: the grid is `(blocks, B, H)` where program axis 1 is the head, and
#   `BLOCK_D=triton.next_power_of_2(D)` lacks the minimum of 16.
# names: out_of_bounds
# base: wrong_one_stride_for_k_and_v

# --- replace
    kv_strides = k.stride()  # k and v have one shape
    flash_forward_kernel[(triton.cdiv(S_q, 32), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D,
        *q.stride(), *kv_strides, *kv_strides, *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
# --- with
    flash_forward_kernel[(triton.cdiv(S_q, 32), B, H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=triton.next_power_of_2(D),
