# label: right
# title: a tutorial's kernel: everything transposed (pT, dsT), base 2, P set to 0 outside, 16 × 32 tiles

# INCLUDE: shared/_dkdv_tutorial_kernel_and_launch_dkdv


def dkdv_tutorial(q, k, v, o, do, lse, alpha):
    return _launch_dkdv(q, k, v, o, do, lse, alpha, causal=False)
