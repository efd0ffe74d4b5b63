"""Answers to lesson 09, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "strided_inputs",
    "the launch passes `*k.stride()` for v as well, and `torch.empty_like(q)` keeps the strides "
    "of a transposed q where o is promised to be contiguous",
    "v read with k's strides",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x.dim() != 4:
            raise ValueError(f"{name} must have 4 dimensions [B, H, S, D], found shape {tuple(x.shape)}")
        if x.dtype not in (torch.float32, torch.float16, torch.bfloat16):
            raise TypeError(f"{name} has dtype {x.dtype}; float32, float16 and bfloat16 are supported")
        if x.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {x.dtype} but q has {q.dtype}: they must agree")
        if x.device != q.device:
            raise ValueError(f"{name} is on {x.device} but q is on {q.device}")
    if k.shape[:2] != q.shape[:2] or k.shape[3] != q.shape[3]:
        raise ValueError(f"k has shape {tuple(k.shape)}, which does not fit q's {tuple(q.shape)}")
    if v.shape != k.shape:
        raise ValueError(f"v has shape {tuple(v.shape)}, expected k's {tuple(k.shape)}")


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    alpha = D**-0.5 if alpha is None else alpha
    o = torch.empty_like(q)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, 32), H, B)
    flash_forward_kernel[grid](
        q, k, v, o, lse, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *k.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
''',
        title="empty like and strides of k for v",
    )
)

wrong(
    "flash_attention",
    "`FlashAttention.kept = (q, k, v, o, lse, causal, alpha)` is overwritten by a second call "
    "before the first backward pass; it must go to ctx",
    "kept on the class",
)(
    written(
        '''
from torch import Tensor
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


class FlashAttention(torch.autograd.Function):
    """Forward and backward pass for autograd; `flash_attention` is how to call it."""

    kept = None

    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        if causal:
            o, lse = flash_forward_causal(q, k, v, alpha)
        else:
            o, lse = flash_forward(q, k, v, alpha)
        FlashAttention.kept = (q, k, v, o, lse, causal, alpha)
        return o

    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse, causal, alpha = FlashAttention.kept
        if causal:
            dq = dq_kernel_causal(q, k, v, o, do, lse, alpha)
            dk, dv = dkv_kernel_causal(q, k, v, o, do, lse, alpha)
        else:
            dq = dq_kernel(q, k, v, o, do, lse, alpha)
            dk, dv = dkv_kernel(q, k, v, o, do, lse, alpha)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = q.shape[-1] ** -0.5
    return FlashAttention.apply(q, k, v, causal, alpha)
''',
        title="what is saved lies on the class",
    )
)

wrong(
    "flash_attention",
    "`return dq, dk, dv` gives back three gradients where forward has five arguments; autograd refuses",
    "crashed",
)(
    written(
        '''
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
        forward = flash_forward_causal if causal else flash_forward
        o, lse = forward(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)  # tensors; autograd frees them when the graph goes
        ctx.causal, ctx.alpha = causal, alpha  # everything else
        return o

    @staticmethod
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse = ctx.saved_tensors
        to_dq = dq_kernel_causal if ctx.causal else dq_kernel
        to_dkv = dkv_kernel_causal if ctx.causal else dkv_kernel
        dq = to_dq(q, k, v, o, do, lse, ctx.alpha)
        dk, dv = to_dkv(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    if alpha is None:  # not `alpha or …`: 0.0 is a number like any other
        alpha = 1 / math.sqrt(q.shape[-1])
    return FlashAttention.apply(q, k, v, causal, alpha)
''',
        title="three gradients for five arguments",
    )
)

wrong(
    "train_with_your_kernel",
    "`logits.reshape(B, -1, S)` reads the memory in another order, it does not swap positions and"
    " characters; the loss compares mixed-up logits",
    "logits reshaped instead of transposed",
)(
    written(
        '''
import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The loss before each step, [steps]: one step per batch, attention by flash_attention."""

    def attention(q, k, v):
        return flash_attention(q, k, v, causal=True)

    model = training.Transformer(size, start)
    optimizer = training.optimizer(model)
    curve = []
    for batch in batches:
        read, target = batch[:, :-1], batch[:, 1:]
        B, S = target.shape
        optimizer.zero_grad()
        logits = model(read, attention)
        loss = F.cross_entropy(logits.reshape(B, -1, S), target)  # cross_entropy wants the classes second
        loss.backward()
        optimizer.step()
        curve.append(loss.detach())
    return torch.stack(curve)
''',
        title="logits reshaped instead of transposed",
    )
)
