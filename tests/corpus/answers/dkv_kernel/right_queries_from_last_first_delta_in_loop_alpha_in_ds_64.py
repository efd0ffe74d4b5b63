# label: right
# title: queries from the last to the first, delta in the loop, alpha in dS, 64 × 16, a helper for P

# INCLUDE: shared/_probabilities_and_reversed_kernel_and_others


def dkv_backwards(q, k, v, o, do, lse, alpha):
    return _launch_reversed(q, k, v, o, do, lse, alpha, causal=False)
