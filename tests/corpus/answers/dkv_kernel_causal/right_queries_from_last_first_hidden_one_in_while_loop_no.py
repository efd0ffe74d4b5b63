# label: right
# title: queries from the last to the first hidden one in a while loop, no guard but tl.where after exp

# INCLUDE: shared/_probabilities_and_reversed_kernel_and_others


def dkv_causal_backwards(q, k, v, o, do, lse, alpha):
    return _launch_reversed(q, k, v, o, do, lse, alpha, causal=True, BQ=32, BK=64)
