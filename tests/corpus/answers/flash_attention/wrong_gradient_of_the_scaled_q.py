# label: wrong
# title: gradient of the scaled q
# says: forward folds alpha into q and backward returns dq as the gradient of q_scaled: the chain rule's
#   factor alpha is missing (return alpha * dq).
# names: dQ of the scaled q

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
        q_scaled = q * alpha  # fold the scale into Q once; the kernels run with alpha = 1
        run = flash_forward_causal if causal else flash_forward
        o, lse = run(q_scaled, k, v, 1.0)
        ctx.save_for_backward(q_scaled, k, v, o, lse)
        ctx.causal = causal
        return o

    @staticmethod
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q_scaled, k, v, o, lse = ctx.saved_tensors
        saved = (q_scaled, k, v, o, do, lse, 1.0)
        if ctx.causal:
            dq = dq_kernel_causal(*saved)
            dk, dv = dkv_kernel_causal(*saved)
        else:
            dq = dq_kernel(*saved)
            dk, dv = dkv_kernel(*saved)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = q.shape[-1] ** -0.5
    return FlashAttention.apply(q, k, v, causal, alpha)
