# label: wrong
# title: needs input grad off by one
# says: ctx.needs_input_grad[1:4] counts ctx as an argument: the list starts with q ([0:3]), so each tensor is
#   asked about its neighbour, and v about causal, which never wants a gradient (dv is always None).
# names: shape

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
        o, lse = (flash_forward_causal if causal else flash_forward)(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal = causal
        ctx.alpha = alpha
        return o

    @staticmethod
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse = ctx.saved_tensors
        for_dq, for_dkv = (dq_kernel_causal, dkv_kernel_causal) if ctx.causal else (dq_kernel, dkv_kernel)
        q_wanted, k_wanted, v_wanted = ctx.needs_input_grad[1:4]  # [0] is ctx
        dq = dk = dv = None
        if q_wanted:
            dq = for_dq(q, k, v, o, do, lse, ctx.alpha)
        if k_wanted or v_wanted:
            dk, dv = for_dkv(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk if k_wanted else None, dv if v_wanted else None, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = 1 / math.sqrt(q.shape[-1])
    return FlashAttention.apply(q, k, v, causal, alpha)
