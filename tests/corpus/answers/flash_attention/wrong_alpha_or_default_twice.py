# label: wrong
# title: alpha or default twice
# says: two: `alpha or ...` replaces alpha = 0.0, and backward recomputes 1/√D (`scale`) instead of the alpha
#   that forward was given.
# names: alpha is forgotten on the way back + alpha = 0 taken for none

from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        if causal:
            out, lse = flash_forward_causal(q, k, v, alpha)
        else:
            out, lse = flash_forward(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.causal = causal
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, out, lse = ctx.saved_tensors
        scale = 1 / math.sqrt(q.shape[-1])
        args = (q, k, v, out, do, lse, scale)
        if ctx.causal:
            dq = dq_kernel_causal(*args)
            dk, dv = dkv_kernel_causal(*args)
        else:
            dq = dq_kernel(*args)
            dk, dv = dkv_kernel(*args)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    refuse_misfits(q, k, v)
    alpha = alpha or 1 / math.sqrt(q.shape[-1])
    return FlashAttention.apply(q, k, v, causal, alpha)
