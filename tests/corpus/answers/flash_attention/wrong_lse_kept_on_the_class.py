# label: wrong
# title: LSE kept on the class
# says: `FlashAttention.lse = lse` is shared by all calls: after two calls the first one's backward pass uses
#   the second one's LSE. LSE belongs into ctx.save_for_backward with the others.
# names: kept on the class

from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits

class FlashAttention(torch.autograd.Function):
    lse = None
    @staticmethod
    def forward(ctx, q, k, v, causal, alpha):
        fn = {True: flash_forward_causal, False: flash_forward}[bool(causal)]
        o, lse = fn(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o)
        FlashAttention.lse = lse  # not an input or output, so it can not go into save_for_backward
        ctx.params = (causal, alpha)
        return o
    @staticmethod
    @once_differentiable
    def backward(ctx, do):
        q, k, v, o = ctx.saved_tensors
        causal, alpha = ctx.params
        lse = FlashAttention.lse
        if causal:
            dq = dq_kernel_causal(q, k, v, o, do, lse, alpha)
            dk, dv = dkv_kernel_causal(q, k, v, o, do, lse, alpha)
        else:
            dq = dq_kernel(q, k, v, o, do, lse, alpha)
            dk, dv = dkv_kernel(q, k, v, o, do, lse, alpha)
        return dq, dk, dv, None, None

def flash_attention(q, k, v, causal=False, alpha=None):
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = 1.0 / math.sqrt(q.shape[3])
    return FlashAttention.apply(q, k, v, causal, alpha)
