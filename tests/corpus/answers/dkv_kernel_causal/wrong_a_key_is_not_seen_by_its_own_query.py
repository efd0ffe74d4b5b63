# label: wrong
# title: (N_KV - N_Q) > offs_n
# says: A key is not seen by its own query.
# names: mask hides the diagonal
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) >= offs_n[:, None])
# --- with
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) > offs_n[:, None])
