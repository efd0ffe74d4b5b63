# label: wrong
# title: keep = keep & (offs_m[None, :] >= offs_n[:, None])
# says: The mask is aligned top-left, the loop start is right.
# names: mask aligned top-left
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) >= offs_n[:, None])
# --- with
            keep = keep & (offs_m[None, :] >= offs_n[:, None])
