"""Answers to lesson 09, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "flash_attention",
    "two: `alpha or ...` replaces alpha = 0.0, and backward recomputes 1/√D (`scale`) instead of "
    "the alpha that forward was given.",
    "alpha is forgotten on the way back + alpha = 0 taken for none",
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
""",
        title="alpha or default twice",
    )
)

wrong(
    "flash_attention",
    "`dv, dk = dkv_kernel(...)` takes the pair in the wrong order (in both branches), so k gets "
    "the gradient of v and the reverse.",
    "dk and dv exchanged",
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
        if causal:
            out, lse = flash_forward_causal(q, k, v, alpha)
        else:
            out, lse = flash_forward(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.causal = causal
        ctx.alpha = alpha
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        q, k, v, out, lse = ctx.saved_tensors
        args = (q, k, v, out, do, lse, ctx.alpha)
        if ctx.causal:
            dq = dq_kernel_causal(*args)
            dv, dk = dkv_kernel_causal(*args)
        else:
            dq = dq_kernel(*args)
            dv, dk = dkv_kernel(*args)
        return dq, dk, dv, None, None


def flash_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None
) -> Tensor:
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = q.shape[-1] ** -0.5
    return FlashAttention.apply(q, k, v, causal, alpha)
""",
        title="dv before dk",
    )
)

wrong(
    "strided_inputs",
    "`o = torch.empty_like(q)` keeps the strides of a dense view of q, so O is not contiguous as promised.",
    "review",
)(
    written(
        '''
from torch import Tensor
from flashlearn.kernels.attention import refuse_misfits
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
    o = torch.empty_like(q)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
''',
        title="empty like",
    )
)

wrong(
    "strided_inputs",
    "refuse_misfits demands `t.shape == q.shape`: it refuses S_k ≠ S_q, which the kernel can compute.",
    "crashed",
)(
    written(
        """
from torch import Tensor
from flashlearn.kernels.attention import refuse_misfits
from flashlearn.kernels.flash_forward import flash_forward_kernel


def refuse_misfits(q: Tensor, k: Tensor, v: Tensor) -> None:
    for name, t in (("q", q), ("k", k), ("v", v)):
        if t.dim() != 4:
            raise ValueError(f"{name} needs four dimensions [B, H, S, D], not {t.dim()}")
        if t.dtype not in {torch.float16, torch.bfloat16, torch.float32}:
            raise TypeError(f"{name} has dtype {t.dtype}, which the kernels do not take")
        if t.dtype != q.dtype:
            raise TypeError(f"{name} has dtype {t.dtype} but q has {q.dtype}")
        if t.device != q.device:
            raise ValueError(f"{name} lies on {t.device} but q on {q.device}")
        if t.shape != q.shape:
            raise ValueError(f"{name} has shape {tuple(t.shape)} but q has {tuple(q.shape)}")


def strided_inputs(q: Tensor, k: Tensor, v: Tensor, alpha: float | None = None) -> tuple[Tensor, Tensor]:
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    if alpha is None:
        alpha = D**-0.5
    o = q.new_empty((B, H, S_q, D))
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    grid = (triton.cdiv(S_q, 32), H, B)
    flash_forward_kernel[grid](
        q, k, v, o, lse, alpha, H, S_q, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="same shape demanded",
    )
)

wrong(
    "train_with_your_kernel",
    "two: the attention is not causal, and `adam.zero_grad()` is called once before the loop, so "
    "gradients add up over the batches.",
    "the model sees the future + gradients pile up",
)(
    written(
        """
import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    model = training.Transformer(size, start)
    adam = training.optimizer(model)
    history = []
    adam.zero_grad()
    for batch in batches:
        x, y = batch[:, :-1], batch[:, 1:]
        logits = model(x, flash_attention)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
        history.append(loss.detach())
        loss.backward()
        adam.step()
    return torch.stack(history)
""",
        title="future and piled gradients",
    )
)

wrong(
    "train_with_your_kernel",
    "the loss is computed a second time after `adam.step()` and that one is recorded; the text "
    "asks for the loss before each step.",
    "losses noted after the step",
)(
    written(
        """
import torch.nn.functional as F
from torch import Tensor
from flashlearn.kernels.attention import flash_attention
from flashlearn.lessons.lesson_09_into_pytorch import training


def train_with_your_kernel(size: training.Size, start: Tensor, batches: Tensor) -> Tensor:
    model = training.Transformer(size, start)
    adam = training.optimizer(model)
    attend = lambda q, k, v: flash_attention(q, k, v, True)

    def loss_of(batch):
        logits = model(batch[:, :-1], attend)
        return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())

    losses = []
    for batch in batches:
        adam.zero_grad()
        loss_of(batch).backward()
        adam.step()
        with torch.no_grad():
            losses.append(loss_of(batch))
    return torch.stack(losses)
""",
        title="loss after the step",
    )
)
