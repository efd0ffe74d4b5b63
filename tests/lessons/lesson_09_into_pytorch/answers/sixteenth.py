"""Answers to lesson 09, written without a look at what the grader knows: the sixteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "strided_inputs",
    "alpha = BLOCK_D ** -0.5 takes the default scale from the padded width; it must be 1/sqrt(D),"
    " which differs whenever D is no power of two or below 16.",
    "alpha from the padded D",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    allowed = {torch.float32, torch.float16, torch.bfloat16}
    for name, x in zip("qkv", (q, k, v)):
        if x.dim() != 4:
            raise ValueError(f"{name} has {x.dim()} dimensions, expected 4: [B, H, S, D]")
        if x.dtype not in allowed:
            raise TypeError(f"{name} has dtype {x.dtype}, expected float32, float16 or bfloat16")
        if x.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {x.dtype}, but q has {q.dtype}; convert one of them")
        if x.device != q.device:
            raise ValueError(f"{name} is on {x.device}, but q is on {q.device}; move one of them")
    B, H, _, D = q.shape
    S_k = k.size(2)
    for name, x in (("k", k), ("v", v)):
        if x.shape != (B, H, S_k, D):
            raise ValueError(f"{name} has shape {tuple(x.shape)}, expected {(B, H, S_k, D)}")


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    BLOCK_Q, BLOCK_K = 32, 32
    BLOCK_D = max(16, triton.next_power_of_2(D))
    if alpha is None:
        alpha = BLOCK_D ** -0.5
    o = q.new_empty((B, H, S_q, D))
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, BLOCK_Q), H, B)
    flash_forward_kernel[grid](
        q, k, v, o, lse, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK_Q, BLOCK_K=BLOCK_K, BLOCK_D=BLOCK_D,
    )
    return o, lse
''',
        title="alpha of the padded width",
    )
)

wrong(
    "strided_inputs",
    "two in refuse_misfits: is_floating_point() lets float64 through (only float32, float16 and "
    "bfloat16 are allowed), and the lengths of k and v are never compared, so fewer values than "
    "keys are read beyond the end.",
    "review",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for what no kernel here can compute."""
    for name, t in (("q", q), ("k", k), ("v", v)):
        if t.ndim != 4:
            raise ValueError(f"{name} should be [B, H, S, D], but its shape is {tuple(t.shape)}")
        if not t.is_floating_point():
            raise TypeError(f"{name} should be a floating point tensor, but is {t.dtype}")
    for name, t in (("k", k), ("v", v)):
        if t.dtype != q.dtype:
            raise TypeError(f"{name} is {t.dtype}, but q is {q.dtype}: they should be equal")
        if t.device != q.device:
            raise ValueError(f"{name} lives on {t.device}, but q on {q.device}: move it with .to()")
        if t.shape[:2] != q.shape[:2]:
            raise ValueError(f"{name} has B, H = {tuple(t.shape[:2])}, but q has {tuple(q.shape[:2])}")
        if t.shape[-1] != q.shape[-1]:
            raise ValueError(f"{name} has D = {t.shape[-1]}, but q has D = {q.shape[-1]}")
        # S may be anything: queries and keys need not be equally many


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    """O [B, H, S_q, D] and LSE [B, H, S_q] (fp32), both contiguous, from q, k and v of any strides."""
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    scale = 1.0 / math.sqrt(D) if alpha is None else alpha
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    flash_forward_kernel[(triton.cdiv(S_q, 16), H, B)](
        q, k, v, o, lse, scale, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=16, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
''',
        title="two misfits let in",
    )
)

wrong(
    "flash_attention",
    "forward folds alpha into q and backward returns dq as the gradient of q_scaled: the chain "
    "rule's factor alpha is missing (return alpha * dq).",
    "dQ of the scaled q",
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
        q_scaled = q * alpha  # fold the scale into Q once; the kernels run with alpha = 1
        run = flash_forward_causal if causal else flash_forward
        o, lse = run(q_scaled, k, v, 1.0)
        ctx.save_for_backward(q_scaled, k, v, o, lse)
        ctx.causal = causal
        return o

    @staticmethod
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q_scaled, k, v, o, lse = ctx.saved_tensors
        saved = (q_scaled, k, v, o, do, lse, 1.0)
        if ctx.causal:
            dq = dq_kernel_causal(*saved)
            dk, dv = dkv_kernel_causal(*saved)
        else:
            dq = dq_kernel(*saved)
            dk, dv = dkv_kernel(*saved)
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
        title="gradient of the scaled q",
    )
)

wrong(
    "flash_attention",
    "ctx.needs_input_grad[1:4] counts ctx as an argument: the list starts with q ([0:3]), so each"
    " tensor is asked about its neighbour, and v about causal, which never wants a gradient (dv "
    "is always None).",
    "shape",
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
        o, lse = (flash_forward_causal if causal else flash_forward)(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal = causal
        ctx.alpha = alpha
        return o

    @staticmethod
    @once_differentiable  # a gradient of the gradient is an error, not a silent zero
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, o, lse = ctx.saved_tensors
        for_dq, for_dkv = (dq_kernel_causal, dkv_kernel_causal) if ctx.causal else (dq_kernel, dkv_kernel)
        q_wanted, k_wanted, v_wanted = ctx.needs_input_grad[1:4]  # [0] is ctx
        dq = dk = dv = None
        if q_wanted:
            dq = for_dq(q, k, v, o, do, lse, ctx.alpha)
        if k_wanted or v_wanted:
            dk, dv = for_dkv(q, k, v, o, do, lse, ctx.alpha)
        return dq, dk if k_wanted else None, dv if v_wanted else None, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    """softmax(alpha Q Kᵀ) V, differentiable by q, k and v; alpha is 1/√D unless given."""
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = 1 / math.sqrt(q.shape[-1])
    return FlashAttention.apply(q, k, v, causal, alpha)
''',
        title="needs input grad off by one",
    )
)

wrong(
    "train_with_your_kernel",
    "logits.transpose(1, 2).reshape(-1, n_chars) mixes positions and characters: after the "
    "transpose the rows of the reshaped matrix are no longer one position each (either transpose,"
    " or flatten the first two dimensions, not both).",
    "logits turned and then flattened",
)(
    written(
        '''
from functools import partial
import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The loss before each step, [steps]: one step per batch, attention by flash_attention."""
    model = training.Transformer(size, start)
    opt = training.optimizer(model)
    attention = partial(flash_attention, causal=True)
    history = torch.zeros(len(batches), device=batches.device)
    for step, batch in enumerate(batches):
        inputs, targets = batch[:, :-1], batch[:, 1:]
        opt.zero_grad(set_to_none=True)
        logits = model(inputs, attention)
        n_chars = logits.shape[-1]
        # cross_entropy wants the classes in dimension 1
        loss = F.cross_entropy(logits.transpose(1, 2).reshape(-1, n_chars), targets.reshape(-1))
        loss.backward()
        opt.step()
        history[step] = loss.detach()
    return history
''',
        title="transpose then reshape",
    )
)

wrong(
    "train_with_your_kernel",
    "one_step makes a new optimizer = training.optimizer(model) for every batch, so AdamW forgets"
    " its moments and its step count each time; it has to be made once before the loop.",
    "a new optimiser for every step",
)(
    written(
        '''
import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def one_step(model: training.Transformer, batch: Tensor) -> Tensor:
    optimizer = training.optimizer(model)
    read, expected = batch[:, :-1], batch[:, 1:]
    logits = model(read, lambda q, k, v: flash_attention(q, k, v, causal=True))
    loss = F.cross_entropy(logits.flatten(end_dim=1), expected.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    """The loss before each step, [steps]: one step per batch, attention by flash_attention."""
    model = training.Transformer(size, start)
    return torch.stack([one_step(model, batch) for batch in batches])
''',
        title="new optimizer each step",
    )
)

right("flash_attention", "setup context")(
    written(
        '''
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
'''
    )
)
