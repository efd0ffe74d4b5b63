# label: wrong
# title: three gradients for five arguments
# says: `return dq, dk, dv` gives back three gradients where forward has five arguments; autograd refuses
# names: crashed

from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


class FlashAttention(torch.autograd.Function):
    """Forward and backward pass for autograd; `flash_attention` is how to call it."""

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        forward = flash_forward_causal if causal else flash_forward
        o, lse = forward(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)  # tensors; autograd frees them when the graph goes
        ctx.causal, ctx.alpha = causal, alpha  # everything else
        return o

    @staticmethod
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse = ctx.saved_tensors
        to_dq = dq_kernel_causal if ctx.causal else dq_kernel
        to_dkv = dkv_kernel_causal if ctx.causal else dkv_kernel
        dq = to_dq(q, k, v, o, do, lse, ctx.alpha)
        dk, dv = to_dkv(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    if alpha is None:  # not `alpha or …`: 0.0 is a number like any other
        alpha = 1 / math.sqrt(q.shape[-1])
    return FlashAttention.apply(q, k, v, causal, alpha)
