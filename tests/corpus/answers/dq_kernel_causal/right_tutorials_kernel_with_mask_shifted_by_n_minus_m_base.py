# label: right
# title: the tutorial's kernel with the mask shifted by N − M; base 2

# INCLUDE: shared/_preprocess_and_dq_tutorial_kernel_and_others


def dq_tutorial_causal(q, k, v, o, do, lse, alpha):
    return _launch_dq(q, k, v, o, do, lse, alpha, causal=True, BLOCK_M=16, BLOCK_N=64)
