# label: wrong
# title: unseen: offs_m >= offs_n, as in a square
# says: Mask and loop end are aligned top-left: the shift S_k - S_q is missing from both.
# names: mask aligned top-left; loop end without S_k − S_q
# base: _dq_base_2

# --- replace
        end_n = tl.minimum(N_KV, start_m + BLOCK_M2 + N_KV - N_Q)
# --- with
        end_n = tl.minimum(N_KV, start_m + BLOCK_M2)

# --- replace
            keep = keep & (offs_m[:, None] + N_KV - N_Q >= cols[None, :])
# --- with
            keep = keep & (offs_m[:, None] >= cols[None, :])
