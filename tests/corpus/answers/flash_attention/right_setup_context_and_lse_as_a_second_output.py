# label: right
# title: setup_context, and LSE as a second output

from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits

FORWARD = {False: flash_forward, True: flash_forward_causal}
FOR_DQ = {False: dq_kernel, True: dq_kernel_causal}
FOR_DKV = {False: dkv_kernel, True: dkv_kernel_causal}

class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(q, k, v, causal, alpha):
        return FORWARD[causal](q, k, v, alpha)
    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, ctx.causal, ctx.alpha = inputs
        o, lse = output
        ctx.mark_non_differentiable(lse)
        ctx.save_for_backward(q, k, v, o, lse)
    @staticmethod
    @once_differentiable
    def backward(ctx, do, _):
        q, k, v, o, lse = ctx.saved_tensors
        dk, dv = FOR_DKV[ctx.causal](q, k, v, o, do, lse, ctx.alpha)
        dq = FOR_DQ[ctx.causal](q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv, None, None

def flash_attention(q, k, v, causal=False, alpha=None):
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = q.shape[-1] ** -0.5
    o, _ = FlashAttention.apply(q, k, v, bool(causal), float(alpha))
    return o
