# label: wrong
# title: dq_kernel gets do before o, and dK and dV come from the kernel without a mask
# says: dQ's launcher gets do and o in the wrong order, and dK and dV are always those of unmasked attention.
# names: the mask is forgotten in dK and dV + o and do exchanged

from flashlearn.kernels.flash_backward_dkv import dkv_kernel
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, alpha):
        o, lse = (flash_forward_causal if causal else flash_forward)(q, k, v, alpha)
        ctx.causal, ctx.alpha = causal, alpha
        ctx.save_for_backward(q, k, v, o, lse)
        return o

    @staticmethod
    def backward(ctx, do):
        q, k, v, o, lse = ctx.saved_tensors
        backward_q = dq_kernel_causal if ctx.causal else dq_kernel
        dq = backward_q(q, k, v, do, o, lse, ctx.alpha)
        dk, dv = dkv_kernel(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv, None, None


def flash_attention(q, k, v, causal=False, alpha=None):
    alpha = 1 / math.sqrt(q.shape[-1]) if alpha is None else alpha
    return Attention.apply(q, k, v, causal, alpha)
