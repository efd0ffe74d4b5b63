# label: wrong
# title: two kernels
# says: Repeatable, but it scans twice.
# names: review

from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal


def two_kernels(q, k, v, o, do, lse, alpha, causal):
    given = (q, k, v, o, do, lse, alpha)
    if causal:
        return (dq_kernel_causal(*given), *dkv_kernel_causal(*given))
    return (dq_kernel(*given), *dkv_kernel(*given))
