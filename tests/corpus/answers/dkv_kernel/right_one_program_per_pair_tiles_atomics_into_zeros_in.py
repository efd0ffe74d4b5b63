# label: right
# title: one program per pair of tiles, atomics into zeros in fp32, inputs padded and widened by the launcher

# INCLUDE: shared/_pair_kernel_and_launch_pairs


def dkv_pairs(q, k, v, o, do, lse, alpha):
    return _launch_pairs(q, k, v, o, do, lse, alpha, causal=False, BM=64, BN=32)
