"""Answers to lesson 09, written without a look at what the grader knows: the fifteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "strided_inputs",
    "the launch passes `kv_strides` (k's strides) for v as well: right only while v lies in "
    "memory as k does.",
    "v read with k's strides",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    for name, t in zip("qkv", (q, k, v)):
        if t.dim() != 4:
            raise ValueError(f"{name} has {t.dim()} dimensions and shape {tuple(t.shape)}: expected [B, H, S, D]")
        if t.dtype not in {torch.float32, torch.float16, torch.bfloat16}:
            raise TypeError(f"{name} has dtype {t.dtype}: float32, float16 and bfloat16 can be computed")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {t.dtype} but q has {q.dtype}: convert one of them")
        if t.device != q.device:
            raise ValueError(f"{name} lives on {t.device} but q on {q.device}: move one of them")
    B, H, _, D = q.shape
    for name, t in (("k", k), ("v", v)):
        if t.shape != (B, H, k.shape[2], D):
            raise ValueError(f"{name} has shape {tuple(t.shape)}: expected {(B, H, k.shape[2], D)}")


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    alpha = D**-0.5 if alpha is None else alpha
    o = torch.empty(B, H, S_q, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    kv_strides = k.stride()  # k and v have one shape
    flash_forward_kernel[(triton.cdiv(S_q, 32), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D,
        *q.stride(), *kv_strides, *kv_strides, *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
''',
        title="one stride for k and v",
    )
)

wrong(
    "strided_inputs",
    "`if t.shape[1:] != (H, k.shape[2], D)` leaves the batch axis out (as if it broadcast): k or "
    "v of another B is accepted and read beyond its end or half ignored.",
    "review",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    for name, t in zip("qkv", (q, k, v)):
        if t.dim() != 4:
            raise ValueError(f"{name} has {t.dim()} dimensions and shape {tuple(t.shape)}: expected [B, H, S, D]")
        if t.dtype not in {torch.float32, torch.float16, torch.bfloat16}:
            raise TypeError(f"{name} has dtype {t.dtype}: float32, float16 and bfloat16 can be computed")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {t.dtype} but q has {q.dtype}: convert one of them")
        if t.device != q.device:
            raise ValueError(f"{name} lives on {t.device} but q on {q.device}: move one of them")
    _, H, _, D = q.shape
    for name, t in (("k", k), ("v", v)):
        if t.shape[1:] != (H, k.shape[2], D):
            raise ValueError(f"{name} has shape {tuple(t.shape)}: it must have {H} heads of width {D}, q is {tuple(q.shape)}")


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    alpha = D**-0.5 if alpha is None else alpha
    o = torch.empty(B, H, S_q, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    flash_forward_kernel[(triton.cdiv(S_q, 32), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
''',
        title="batch not compared",
    )
)

wrong(
    "strided_inputs",
    "two faults in the launch: the grid is `(blocks, B, H)` where program axis 1 is the head, and"
    " `BLOCK_D=triton.next_power_of_2(D)` lacks the minimum of 16.",
    "out_of_bounds",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    for name, t in zip("qkv", (q, k, v)):
        if t.dim() != 4:
            raise ValueError(f"{name} has {t.dim()} dimensions and shape {tuple(t.shape)}: expected [B, H, S, D]")
        if t.dtype not in {torch.float32, torch.float16, torch.bfloat16}:
            raise TypeError(f"{name} has dtype {t.dtype}: float32, float16 and bfloat16 can be computed")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {t.dtype} but q has {q.dtype}: convert one of them")
        if t.device != q.device:
            raise ValueError(f"{name} lives on {t.device} but q on {q.device}: move one of them")
    B, H, _, D = q.shape
    for name, t in (("k", k), ("v", v)):
        if t.shape != (B, H, k.shape[2], D):
            raise ValueError(f"{name} has shape {tuple(t.shape)}: expected {(B, H, k.shape[2], D)}")


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    alpha = D**-0.5 if alpha is None else alpha
    o = torch.empty(B, H, S_q, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    flash_forward_kernel[(triton.cdiv(S_q, 32), B, H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=triton.next_power_of_2(D),
    )
    return o, lse
''',
        title="grid batch before head and narrow block",
    )
)

wrong(
    "flash_attention",
    "`saved = (q, k, v, do, o, lse, ctx.alpha)` passes dO in the place of O and O in the place of"
    " dO; delta survives, dP and dV do not.",
    "o and do exchanged",
)(
    written(
        """
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
""",
        title="o and do exchanged",
    )
)

wrong(
    "flash_attention",
    "`if ctx.needs_input_grad[1]:` decides over dK and dV together: where V wants a gradient and "
    "K does not, dV is None and never arrives.",
    "review",
)(
    written(
        """
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
        args = (q, k, v, o, do, lse, ctx.alpha)
        dq = dk = dv = None
        if ctx.needs_input_grad[0]:
            dq = dq_kernel_causal(*args) if ctx.causal else dq_kernel(*args)
        if ctx.needs_input_grad[1]:
            dk, dv = dkv_kernel_causal(*args) if ctx.causal else dkv_kernel(*args)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = q.size(-1) ** -0.5
    return FlashAttention.apply(q, k, v, causal, alpha)
""",
        title="dv only where k wants one",
    )
)

wrong(
    "flash_attention",
    "two faults: backward takes `alpha = 1 / math.sqrt(q.shape[-1])` whatever the caller gave, "
    "and `alpha or ...` in the last lines replaces an alpha of 0.0.",
    "alpha is forgotten on the way back",
    "alpha = 0 taken for none",
)(
    written(
        """
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
""",
        title="default alpha on the way back",
    )
)

wrong(
    "train_with_your_kernel",
    "`optimizer = training.optimizer(model)` stands inside the loop: AdamW's moments and step "
    "count begin anew with every batch.",
    "a new optimiser for every step",
)(
    written(
        """
import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    model = training.Transformer(size, start)

    def attention(q, k, v):
        return flash_attention(q, k, v, causal=True)

    history = torch.empty(len(batches), device=batches.device)
    for step, batch in enumerate(batches):
        optimizer = training.optimizer(model)
        logits = model(batch[:, :-1], attention)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), batch[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history[step] = loss.detach()
    return history
""",
        title="new optimiser every batch",
    )
)

right("train_with_your_kernel", "classes on the second axis")(
    written(
        """
import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    net = training.Transformer(size, start)
    opt = training.optimizer(net)
    curve = []
    for one in batches.unbind(0):
        read, wanted = one[:, :-1], one[:, 1:]
        scores = net(read, lambda q, k, v: flash_attention(q, k, v, True))
        loss = F.cross_entropy(scores.transpose(1, 2), wanted)
        curve.append(loss.detach().clone())
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return torch.stack(curve)
"""
    )
)

right("flash_attention", "only what is wanted")(
    written(
        """
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
"""
    )
)
