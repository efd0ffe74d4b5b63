# label: right
# title: 128 × 16 tiles, D padded to 64 at least
# base: right_tutorials_kernel_mask_loop_start_shifted_by_n_kv

# --- replace
        BLOCK_M1=BLOCK_M1, BLOCK_N1=BLOCK_N1, BLOCK_DMODEL=max(16, triton.next_power_of_2(HEAD_DIM)), CAUSAL=causal,
# --- with
        BLOCK_M1=BLOCK_M1, BLOCK_N1=BLOCK_N1, BLOCK_DMODEL=max(64, triton.next_power_of_2(HEAD_DIM)), CAUSAL=causal,

# --- replace
    return _launch_dkdv(q, k, v, o, do, lse, alpha, causal=True, BLOCK_M1=32, BLOCK_N1=16)
# --- with
    return _launch_dkdv(q, k, v, o, do, lse, alpha, causal=True, BLOCK_M1=16, BLOCK_N1=128)
