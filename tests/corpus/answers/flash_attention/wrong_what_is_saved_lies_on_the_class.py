# label: wrong
# title: what is saved lies on the class
# says: `FlashAttention.kept = (q, k, v, o, lse, causal, alpha)` is overwritten by a second call before the
#   first backward pass; it must go to ctx
# names: kept on the class

from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


class FlashAttention(torch.autograd.Function):
    """Forward and backward pass for autograd; `flash_attention` is how to call it."""

    kept = None

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        if causal:
            o, lse = flash_forward_causal(q, k, v, alpha)
        else:
            o, lse = flash_forward(q, k, v, alpha)
        FlashAttention.kept = (q, k, v, o, lse, causal, alpha)
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse, causal, alpha = FlashAttention.kept
        if causal:
            dq = dq_kernel_causal(q, k, v, o, do, lse, alpha)
            dk, dv = dkv_kernel_causal(q, k, v, o, do, lse, alpha)
        else:
            dq = dq_kernel(q, k, v, o, do, lse, alpha)
            dk, dv = dkv_kernel(q, k, v, o, do, lse, alpha)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = q.shape[-1] ** -0.5
    return FlashAttention.apply(q, k, v, causal, alpha)
