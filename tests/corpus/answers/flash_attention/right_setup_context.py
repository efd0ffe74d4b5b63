# label: right
# title: setup context

from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


KERNELS = {
    False: (flash_forward, dq_kernel, dkv_kernel),
    True: (flash_forward_causal, dq_kernel_causal, dkv_kernel_causal),
}


class FlashAttention(torch.autograd.Function):
    """Forward and backward pass for autograd; `flash_attention` is how to call it."""

    @staticmethod
    def forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
        return KERNELS[bool(causal)][0](q, k, v, alpha)

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        *qkv, ctx.causal, ctx.alpha = inputs
        o, lse = output
        ctx.mark_non_differentiable(lse)
        ctx.save_for_backward(*qkv, o, lse)

    @staticmethod
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
    def backward(ctx, do: Tensor, _of_lse: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse = ctx.saved_tensors
        _, to_dq, to_dkv = KERNELS[bool(ctx.causal)]
        everything = dict(q=q, k=k, v=v, o=o, do=do, lse=lse, alpha=ctx.alpha)
        return to_dq(**everything), *to_dkv(**everything), None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    o, _ = FlashAttention.apply(q, k, v, causal, 1 / math.sqrt(q.shape[-1]) if alpha is None else alpha)
    return o
