# label: wrong
# title: O and LSE kept in a dictionary by shape
# says: O and LSE are kept in a module-level dictionary under the shape of q instead of on ctx. A second call
#   with the same shapes, another layer say, overwrites the first one's before its backward pass has run, and
#   the dictionary keeps them alive for ever.
# names: kept on the class

from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


def refuse_misfits(q, k, v):
    pass


_kept = {}


class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        run = flash_forward_causal if causal else flash_forward
        o, lse = run(q, k, v, alpha)
        ctx.key = (tuple(q.shape), tuple(k.shape), causal)
        _kept[ctx.key] = (o.detach(), lse)
        ctx.save_for_backward(q, k, v)
        ctx.causal, ctx.alpha = causal, alpha
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor):
        q, k, v = ctx.saved_tensors
        o, lse = _kept[ctx.key]
        for_dq, for_dkv = (dq_kernel_causal, dkv_kernel_causal) if ctx.causal else (dq_kernel, dkv_kernel)
        dq = for_dq(q, k, v, o, do, lse, ctx.alpha)
        dk, dv = for_dkv(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    refuse_misfits(q, k, v)
    return FlashAttention.apply(q, k, v, causal, q.shape[-1] ** -0.5 if alpha is None else alpha)
