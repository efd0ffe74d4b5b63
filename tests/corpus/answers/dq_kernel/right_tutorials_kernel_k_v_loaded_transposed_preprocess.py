# label: right
# title: a tutorial's kernel: K and V loaded transposed, a preprocess kernel, base 2 inside, P set to 0 where
#   there is no key

# INCLUDE: shared/_preprocess_and_dq_tutorial_kernel_and_others


def dq_tutorial(q, k, v, o, do, lse, alpha):
    return _launch_dq(q, k, v, o, do, lse, alpha, causal=False)
