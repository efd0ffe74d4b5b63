# label: wrong
# title: the tutorial's start and mask
# says: Mask and loop start are those of square matrices, as in the tutorial.
# names: mask aligned top-left
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        start_m = tl.maximum(0, start_n - (N_KV - N_Q)) // BLOCK_M1 * BLOCK_M1
# --- with
        start_m = start_n // BLOCK_M1 * BLOCK_M1

# --- replace
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) >= offs_n[:, None])
# --- with
            keep = keep & (offs_m[None, :] >= offs_n[:, None])
