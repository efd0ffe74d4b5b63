# label: right
# title: the tutorial's kernel, mask and loop start shifted by N_KV − N_Q; base 2

# INCLUDE: shared/_dkdv_tutorial_kernel_and_launch_dkdv


def dkdv_tutorial_causal(q, k, v, o, do, lse, alpha):
    return _launch_dkdv(q, k, v, o, do, lse, alpha, causal=True, BLOCK_M1=32, BLOCK_N1=16)
