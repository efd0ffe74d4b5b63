# label: wrong
# title: dK and dV exchanged in backward
# says: `dv, dk = ...` unpacks the pair in the wrong order: dkv_kernel returns dK first. So k.grad gets dV and
#   v.grad gets dK; the shapes are equal and nothing complains.
# names: dk and dv exchanged

from torch import Tensor
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits

class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        if causal:
            o, lse = flash_forward_causal(q, k, v, alpha)
        else:
            o, lse = flash_forward(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal = causal
        ctx.alpha = alpha
        return o
    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor):
        q, k, v, o, lse = ctx.saved_tensors
        inputs = (q, k, v, o, do, lse, ctx.alpha)
        if ctx.causal:
            dq = dq_kernel_causal(*inputs)
            dv, dk = dkv_kernel_causal(*inputs)
        else:
            dq = dq_kernel(*inputs)
            dv, dk = dkv_kernel(*inputs)
        return dq, dk, dv, None, None

def flash_attention(
    q, k, v, causal = False, alpha = None
):
    refuse_misfits(q, k, v)
    scale = alpha if alpha is not None else q.size(-1) ** -0.5
    return FlashAttention.apply(q, k, v, causal, scale)
