# label: wrong
# title: (N_Q - start_m) // BLOCK_M1
# says: The number of steps is rounded down.
# names: the last, incomplete block of queries is left out; last tile missing
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
    num_steps = tl.cdiv(N_Q - start_m, BLOCK_M1)
# --- with
    num_steps = (N_Q - start_m) // BLOCK_M1
