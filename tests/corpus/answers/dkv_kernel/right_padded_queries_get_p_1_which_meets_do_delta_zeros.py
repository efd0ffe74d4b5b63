# label: right
# title: padded queries get P = 1, which meets a dO and a delta of zeros
# base: right_tutorials_kernel_everything_transposed_pt_dst_base_2

# --- replace
        keep = mmask[None, :] & (offs_n[:, None] < N_KV)
# --- with
        keep = offs_n[:, None] < N_KV
