# label: wrong
# title: (N_KV - N_Q) > offs_n / m[None, :]
# says: Two mistakes: the mask hides the diagonal, and LSE is read as base 2.
# names: mask hides the diagonal + LSE read as base 2
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        pT = tl.math.exp2(qkT * (sm_scale * LOG2E) - (m * LOG2E)[None, :])
# --- with
        pT = tl.math.exp2(qkT * (sm_scale * LOG2E) - m[None, :])

# --- replace
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) >= offs_n[:, None])
# --- with
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) > offs_n[:, None])
