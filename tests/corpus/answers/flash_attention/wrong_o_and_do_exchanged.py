# label: wrong
# title: o and do exchanged
# says: `saved = (q, k, v, do, o, lse, ctx.alpha)` passes dO in the place of O and O in the place of dO; delta
#   survives, dP and dV do not.
# names: o and do exchanged

from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        o, lse = (flash_forward_causal if causal else flash_forward)(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.alpha = alpha
        ctx.causal = causal
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor):
        q, k, v, o, lse = ctx.saved_tensors
        saved = (q, k, v, do, o, lse, ctx.alpha)
        if ctx.causal:
            return dq_kernel_causal(*saved), *dkv_kernel_causal(*saved), None, None
        return dq_kernel(*saved), *dkv_kernel(*saved), None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = q.size(-1) ** -0.5
    return FlashAttention.apply(q, k, v, causal, alpha)
