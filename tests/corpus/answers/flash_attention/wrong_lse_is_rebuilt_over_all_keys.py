# label: wrong
# title: LSE is rebuilt in backward, over all keys
# says: LSE is not saved but recomputed in backward over all keys, also in a causal call: the causal kernels
#   need the logsumexp of the visible keys only, so P and all three gradients are wrong there; save the
#   lse that the forward pass returned.
# names: LSE of all keys on the way back

from torch.autograd.function import once_differentiable

from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


from torch import Tensor


class FlashAttention(torch.autograd.Function):
    """Saves q, k, v and o; LSE is cheap to rebuild, so it is not kept."""

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        run = flash_forward_causal if causal else flash_forward
        o, _ = run(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o)
        ctx.causal = causal
        ctx.alpha = alpha
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor):
        q, k, v, o = ctx.saved_tensors
        scores = ctx.alpha * (q.float() @ k.float().transpose(-1, -2))
        lse = torch.logsumexp(scores, dim=-1)
        if ctx.causal:
            dq = dq_kernel_causal(q, k, v, o, do, lse, ctx.alpha)
            dk, dv = dkv_kernel_causal(q, k, v, o, do, lse, ctx.alpha)
        else:
            dq = dq_kernel(q, k, v, o, do, lse, ctx.alpha)
            dk, dv = dkv_kernel(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    refuse_misfits(q, k, v)
    alpha = 1 / math.sqrt(q.shape[-1]) if alpha is None else alpha
    return FlashAttention.apply(q, k, v, causal, alpha)
