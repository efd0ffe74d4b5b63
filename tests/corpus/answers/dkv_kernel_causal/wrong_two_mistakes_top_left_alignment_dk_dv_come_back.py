# label: wrong
# title: keep = keep & (offs_m[None, :] >= offs_n[:, None]) / return dv, dk
# says: Two mistakes: top-left alignment, and dK and dV come back exchanged.
# names: mask aligned top-left + outputs exchanged; mask aligned top-left + dK and dV exchanged
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
            keep = keep & (offs_m[None, :] + (N_KV - N_Q) >= offs_n[:, None])
# --- with
            keep = keep & (offs_m[None, :] >= offs_n[:, None])

# --- replace
    return dk, dv
# --- with
    return dv, dk
