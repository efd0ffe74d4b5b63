# label: right
# title: one program per pair of tiles that sees anything, atomics, −1e30 for s − lse

# INCLUDE: shared/_pair_kernel_and_launch_pairs


def dkv_causal_pairs(q, k, v, o, do, lse, alpha):
    return _launch_pairs(q, k, v, o, do, lse, alpha, causal=True, BM=32, BN=32)
