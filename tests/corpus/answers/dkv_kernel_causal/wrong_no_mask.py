# label: wrong
# title: no mask
# says: There is no mask at all.
# names: mask forgotten; leak from the future; diagonal tiles
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) >= offs_n[:, None])
# --- with
            keep = keep & True
