# label: wrong
# title: num_steps = tl.cdiv(N_Q - start_n, BLOCK_M1)
# says: The steps are counted from the block's own number, whatever the start: the last tiles are left out.
# names: last tile missing
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
    num_steps = tl.cdiv(N_Q - start_m, BLOCK_M1)
# --- with
    num_steps = tl.cdiv(N_Q - start_n, BLOCK_M1)
