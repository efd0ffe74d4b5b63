# label: wrong
# title: default alpha on the way back
# says: two faults: backward takes `alpha = 1 / math.sqrt(q.shape[-1])` whatever the caller gave, and `alpha
#   or ...` in the last lines replaces an alpha of 0.0.
# names: alpha is forgotten on the way back; alpha = 0 taken for none

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
        alpha = 1 / math.sqrt(q.shape[-1])
        backward_q, backward_kv = (
            (dq_kernel_causal, dkv_kernel_causal) if ctx.causal else (dq_kernel, dkv_kernel)
        )
        dk, dv = backward_kv(q, k, v, o, do, lse, alpha)
        dq = backward_q(q, k, v, o, do, lse, alpha)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    refuse_misfits(q, k, v)
    return FlashAttention.apply(q, k, v, causal, alpha or 1 / math.sqrt(q.shape[-1]))
