# label: right
# title: only what is wanted

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
        *saved, o, lse = ctx.saved_tensors
        wants_q, wants_k, wants_v, *_ = ctx.needs_input_grad
        for_q, for_kv = {False: (dq_kernel, dkv_kernel), True: (dq_kernel_causal, dkv_kernel_causal)}[bool(ctx.causal)]
        rest = (o, do.contiguous(), lse, ctx.alpha)
        grads = [None] * 5
        if wants_q:
            grads[0] = for_q(*saved, *rest)
        if wants_k or wants_v:
            grads[1], grads[2] = for_kv(*saved, *rest)
        return tuple(grads)


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = q.size(-1) ** -0.5
    return FlashAttention.apply(q, k, v, causal, alpha)
