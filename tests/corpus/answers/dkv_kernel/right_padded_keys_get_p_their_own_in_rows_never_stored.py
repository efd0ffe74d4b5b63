# label: right
# title: padded keys get a P of their own, in rows that are never stored
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        keep = mmask[None, :] & (offs_n[:, None] < N_KV)
# --- with
        keep = mmask[None, :]
