# label: right
# title: tiles of 128 × 32, D padded to 32 at least
# base: right_tutorials_kernel_with_mask_shifted_by_n_minus_m_base

# --- replace
    BLOCK_D = max(16, triton.next_power_of_2(D))
# --- with
    BLOCK_D = max(32, triton.next_power_of_2(D))

# --- replace
    return _launch_dq(q, k, v, o, do, lse, alpha, causal=True, BLOCK_M=16, BLOCK_N=64)
# --- with
    return _launch_dq(q, k, v, o, do, lse, alpha, causal=True, BLOCK_M=128, BLOCK_N=32)
