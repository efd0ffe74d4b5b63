# label: wrong
# title: tl.cdiv(N_KV - start_m, BLOCK_M1)
# says: The number of steps is that of the keys.
# names: loop over S_k
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
    num_steps = tl.cdiv(N_Q - start_m, BLOCK_M1)
# --- with
    num_steps = tl.cdiv(N_KV - start_m, BLOCK_M1)
