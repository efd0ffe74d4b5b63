"""Answers to lesson 09, written without a look at what the grader knows: the fourteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "strided_inputs",
    "line `alpha = alpha or …`: alpha 0.0 is taken for not given",
    "alpha = 0 taken for none",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    named = {"q": q, "k": k, "v": v}
    for name, t in named.items():
        if t.ndim != 4:
            raise ValueError(f"{name} has shape {tuple(t.shape)}, expected four dimensions [B, H, S, D]")
        if t.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise TypeError(f"{name} is {t.dtype}, expected float32, float16 or bfloat16")
    for name in ("k", "v"):
        t = named[name]
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype} and q is {q.dtype}: convert one, q, k and v share a dtype")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device} and q on {q.device}: move one, they share a device")
        expected = (q.shape[0], q.shape[1], k.shape[2], q.shape[3])
        if tuple(t.shape) != expected:
            raise ValueError(
                f"{name} has shape {tuple(t.shape)}, expected {expected}: only S may differ from q's"
            )


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    alpha = alpha or 1 / math.sqrt(D)
  
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
''',
        title="alpha or default",
    )
)

wrong(
    "strided_inputs",
    "line `o = torch.empty_like(q)`: O keeps the strides of q where q is a dense view, so it is "
    "not contiguous",
    "review",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    named = {"q": q, "k": k, "v": v}
    for name, t in named.items():
        if t.ndim != 4:
            raise ValueError(f"{name} has shape {tuple(t.shape)}, expected four dimensions [B, H, S, D]")
        if t.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise TypeError(f"{name} is {t.dtype}, expected float32, float16 or bfloat16")
    for name in ("k", "v"):
        t = named[name]
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype} and q is {q.dtype}: convert one, q, k and v share a dtype")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device} and q on {q.device}: move one, they share a device")
        expected = (q.shape[0], q.shape[1], k.shape[2], q.shape[3])
        if tuple(t.shape) != expected:
            raise ValueError(
                f"{name} has shape {tuple(t.shape)}, expected {expected}: only S may differ from q's"
            )


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    if alpha is None:
        alpha = 1 / math.sqrt(D)
    # not empty_like(q): that keeps the strides of a dense view, and o is promised to be contiguous
    o = torch.empty_like(q)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
''',
        title="empty like output",
    )
)

wrong(
    "strided_inputs",
    "line `alpha =`: 1/√S_k instead of 1/√D",
    "alpha from S",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    named = {"q": q, "k": k, "v": v}
    for name, t in named.items():
        if t.ndim != 4:
            raise ValueError(f"{name} has shape {tuple(t.shape)}, expected four dimensions [B, H, S, D]")
        if t.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise TypeError(f"{name} is {t.dtype}, expected float32, float16 or bfloat16")
    for name in ("k", "v"):
        t = named[name]
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype} and q is {q.dtype}: convert one, q, k and v share a dtype")
        if t.device != q.device:
            raise ValueError(f"{name} is on {t.device} and q on {q.device}: move one, they share a device")
        expected = (q.shape[0], q.shape[1], k.shape[2], q.shape[3])
        if tuple(t.shape) != expected:
            raise ValueError(
                f"{name} has shape {tuple(t.shape)}, expected {expected}: only S may differ from q's"
            )


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    if alpha is None:
        alpha = 1 / math.sqrt(S_k)
  
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
''',
        title="alpha by sequence",
    )
)

wrong(
    "flash_attention",
    "lines `to_dq`, `to_dkv`: the backward pass always takes the kernels without a mask",
    "the mask is forgotten on the way back",
)(
    written(
        '''
from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.flash_backward_dkv import dkv_kernel
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.kernels.attention import refuse_misfits


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
        to_dq = dq_kernel
        to_dkv = dkv_kernel
        dq = to_dq(q, k, v, o, do, lse, ctx.alpha)
        dk, dv = to_dkv(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv, None, None  # causal and alpha are no tensors: no gradient


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    if alpha is None:  # not `alpha or …`: 0.0 is a number like any other
        alpha = 1 / math.sqrt(q.shape[-1])
    return FlashAttention.apply(q, k, v, causal, alpha)
''',
        title="causal not saved",
    )
)

wrong(
    "flash_attention",
    "line `return`: dV and dK are returned in the wrong order",
    "dk and dv exchanged",
)(
    written(
        '''
from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.kernels.attention import refuse_misfits


class FlashAttention(torch.autograd.Function):
    """Forward and backward pass for autograd; `flash_attention` is how to call it."""

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        forward = flash_forward_causal if causal else flash_forward
        o, lse = forward(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal, ctx.alpha = causal, alpha
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse = ctx.saved_tensors
        to_dq = dq_kernel_causal if ctx.causal else dq_kernel
        to_dkv = dkv_kernel_causal if ctx.causal else dkv_kernel
        dq = to_dq(q, k, v, o, do, lse, ctx.alpha)
        dk, dv = to_dkv(q, k, v, o, do, lse, ctx.alpha)
        return dq, dv, dk, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = 1 / math.sqrt(q.shape[-1])
    return FlashAttention.apply(q, k, v, causal, alpha)
''',
        title="dk dv swapped",
    )
)

wrong(
    "train_with_your_kernel",
    "line `adam.zero_grad()` is missing: gradients pile up",
    "gradients pile up",
)(
    written(
        '''
import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The loss before each step, [steps]: one step per batch, attention by flash_attention."""
    model = training.Transformer(size, start)
    adam = training.optimizer(model)
    losses = []
    for batch in batches:
        logits = model(batch[:, :-1], lambda q, k, v: flash_attention(q, k, v, causal=True))
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        loss.backward()
        adam.step()
        losses.append(loss.detach())
    return torch.stack(losses)
''',
        title="no zero grad, once more",
    )
)
