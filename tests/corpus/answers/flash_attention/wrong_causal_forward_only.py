# label: wrong
# title: causal forward only
# says: two: the backward pass calls dq_kernel and dkv_kernel whatever ctx.causal says; and alpha = alpha or
#   ... replaces an alpha of 0.0
# names: the mask is forgotten on the way back + alpha = 0 taken for none

from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


class FlashAttention(torch.autograd.Function):
    """Forward and backward pass for autograd; `flash_attention` is how to call it."""

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        forward = flash_forward_causal if causal else flash_forward
        o, lse = forward(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal, ctx.alpha = causal, alpha
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse = ctx.saved_tensors
        dq = dq_kernel(q, k, v, o, do, lse, ctx.alpha)
        dk, dv = dkv_kernel(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    alpha = alpha or 1 / math.sqrt(q.shape[-1])
    return FlashAttention.apply(q, k, v, causal, alpha)
