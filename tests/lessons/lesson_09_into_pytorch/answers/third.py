"""Answers to lesson 09, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "strided_inputs",
    "`o = torch.empty_like(q)` keeps the strides of a dense view: for a q that a projection left as [B, "
    "S, H, D] in memory, o is not contiguous, as the text promises. Allocate from the shape.",
    "review",
    "o's layout",
)(
    written(
        """
from flashlearn.kernels.flash_forward import flash_forward_kernel

def refuse_misfits(q, k, v):
    allowed = {torch.float32, torch.float16, torch.bfloat16}
    for name, tensor in zip("qkv", (q, k, v)):
        if tensor.dim() != 4:
            raise ValueError(f"{name}: expected [B, H, S, D], got {list(tensor.shape)}")
        if tensor.dtype not in allowed:
            raise TypeError(f"{name}: dtype {tensor.dtype} is not supported: float32, float16, bfloat16")
    if k.dtype != q.dtype:
        raise TypeError(f"k: dtype {k.dtype} differs from q's {q.dtype}")
    if v.dtype != q.dtype:
        raise TypeError(f"v: dtype {v.dtype} differs from q's {q.dtype}")
    if k.device != q.device:
        raise ValueError(f"k: on {k.device}, but q is on {q.device}")
    if v.device != q.device:
        raise ValueError(f"v: on {v.device}, but q is on {q.device}")
    B, H, _, D = q.shape
    if (k.shape[0], k.shape[1], k.shape[3]) != (B, H, D):
        raise ValueError(f"k: shape {list(k.shape)} does not fit q's {list(q.shape)} (only S may differ)")
    if v.shape != k.shape:
        raise ValueError(f"v: shape {list(v.shape)} differs from k's {list(k.shape)}")

def strided_inputs(q, k, v, alpha = None):
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    scale = D ** -0.5 if alpha is None else alpha
    o = torch.empty_like(q)
    lse = torch.empty(B, H, S_q, device=q.device, dtype=torch.float32)
    grid = (triton.cdiv(S_q, 32), B * H)
    flash_forward_kernel[grid](
        q, k, v, o, lse, scale, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
""",
        title="o allocated with empty_like(q)",
    )
)

wrong(
    "strided_inputs",
    "refuse_misfits compares B, H and D of v with q, but never v.shape[2] with k.shape[2]: fewer values "
    "than keys are accepted, and the kernel reads beyond the end of v.",
    "review",
)(
    written(
        """
from flashlearn.kernels.flash_forward import flash_forward_kernel

def refuse_misfits(q, k, v):
    def complain(error, name, found, wanted):
        raise error(f"{name} has {found}, expected {wanted}")
    tensors = [("q", q), ("k", k), ("v", v)]
    for name, t in tensors:
        if len(t.shape) != 4:
            complain(ValueError, name, f"shape {tuple(t.shape)}", "four dimensions [B, H, S, D]")
    for name, t in tensors:
        if t.dtype not in (torch.float16, torch.bfloat16, torch.float32):
            complain(TypeError, name, f"dtype {t.dtype}", "float16, bfloat16 or float32")
        if t.dtype != q.dtype:
            complain(TypeError, name, f"dtype {t.dtype}", f"that of q, {q.dtype}")
        if t.device != q.device:
            complain(ValueError, name, f"device {t.device}", f"that of q, {q.device}")
        for axis, what in ((0, "batch"), (1, "heads"), (3, "head dimension")):
            if t.shape[axis] != q.shape[axis]:
                complain(ValueError, name, f"{what} {t.shape[axis]}", f"{q.shape[axis]} as in q")

def strided_inputs(q, k, v, alpha = None):
    refuse_misfits(q, k, v)
    B, H, S_q, D = q.shape
    S_k = k.size(2)
    if alpha is None:
        alpha = 1.0 / math.sqrt(D)
    o = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, S_q), dtype=torch.float32, device=q.device)
    block_d = 16
    while block_d < D:
        block_d *= 2
    flash_forward_kernel[((S_q + 31) // 32, B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        o.stride(0), o.stride(1), o.stride(2), o.stride(3),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=block_d,
    )
    return o, lse
""",
        title="length of V never compared with K",
    )
)

wrong(
    "strided_inputs",
    "`alpha or D ** -0.5` takes an alpha of 0.0 for missing; and `BLOCK_D=triton.next_power_of_2(D)` "
    "gives less than 16 for D < 9, which tl.dot refuses.",
    "alpha = 0 taken for none",
)(
    written(
        """
from flashlearn.kernels.flash_forward import flash_forward_kernel

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)

def refuse_misfits(q, k, v):
    for name, t in {"q": q, "k": k, "v": v}.items():
        if t.ndim != 4:
            raise ValueError(f"{name} must be [B, H, S, D], but its shape is {tuple(t.shape)}")
        if t.dtype not in _DTYPES:
            raise TypeError(f"{name} is {t.dtype}; float32, float16 and bfloat16 are supported")
    for name, t in {"k": k, "v": v}.items():
        if t.dtype is not q.dtype:
            raise TypeError(f"{name} is {t.dtype} but q is {q.dtype}")
        if t.device != q.device:
            raise ValueError(f"{name} lives on {t.device}, q on {q.device}")
        if t.shape[:2] != q.shape[:2] or t.shape[3] != q.shape[3]:
            raise ValueError(f"{name} has shape {tuple(t.shape)}, which does not fit q's {tuple(q.shape)}")
    if k.shape[2] != v.shape[2]:
        raise ValueError(f"v has {v.shape[2]} rows, k has {k.shape[2]}: every key needs its value")

def strided_inputs(q, k, v, alpha = None):
    refuse_misfits(q, k, v)
    (B, H, S_q, D), S_k = q.shape, k.shape[2]
    o = torch.empty(B, H, S_q, D, dtype=q.dtype, device=q.device)
    lse = torch.empty(B, H, S_q, dtype=torch.float32, device=q.device)
    BLOCK = 32
    flash_forward_kernel[(triton.cdiv(S_q, BLOCK), B * H)](
        q, k, v, o, lse, alpha or D ** -0.5, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=triton.next_power_of_2(D),
    )
    return o, lse
""",
        title="two mistakes: alpha or ..., and BLOCK_D below 16",
    )
)

wrong(
    "flash_attention",
    "`dv, dk = ...` unpacks the pair in the wrong order: dkv_kernel returns dK first. So k.grad gets dV "
    "and v.grad gets dK; the shapes are equal and nothing complains.",
    "dk and dv exchanged",
)(
    written(
        """
from torch import Tensor
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits

class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        if causal:
            o, lse = flash_forward_causal(q, k, v, alpha)
        else:
            o, lse = flash_forward(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal = causal
        ctx.alpha = alpha
        return o
    @staticmethod
    @once_differentiable
    def backward(ctx, do: Tensor):
        q, k, v, o, lse = ctx.saved_tensors
        inputs = (q, k, v, o, do, lse, ctx.alpha)
        if ctx.causal:
            dq = dq_kernel_causal(*inputs)
            dv, dk = dkv_kernel_causal(*inputs)
        else:
            dq = dq_kernel(*inputs)
            dv, dk = dkv_kernel(*inputs)
        return dq, dk, dv, None, None

def flash_attention(
    q, k, v, causal = False, alpha = None
):
    refuse_misfits(q, k, v)
    scale = alpha if alpha is not None else q.size(-1) ** -0.5
    return FlashAttention.apply(q, k, v, causal, scale)
""",
        title="dK and dV exchanged in backward",
    )
)

wrong(
    "flash_attention",
    "`FlashAttention.lse = lse` is shared by all calls: after two calls the first one's backward pass "
    "uses the second one's LSE. LSE belongs into ctx.save_for_backward with the others.",
    "kept on the class",
)(
    written(
        """
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits

class FlashAttention(torch.autograd.Function):
    lse = None
    @staticmethod
    def forward(ctx, q, k, v, causal, alpha):
        fn = {True: flash_forward_causal, False: flash_forward}[bool(causal)]
        o, lse = fn(q, k, v, alpha)
        ctx.save_for_backward(q, k, v, o)
        FlashAttention.lse = lse  # not an input or output, so it can not go into save_for_backward
        ctx.params = (causal, alpha)
        return o
    @staticmethod
    @once_differentiable
    def backward(ctx, do):
        q, k, v, o = ctx.saved_tensors
        causal, alpha = ctx.params
        lse = FlashAttention.lse
        if causal:
            dq = dq_kernel_causal(q, k, v, o, do, lse, alpha)
            dk, dv = dkv_kernel_causal(q, k, v, o, do, lse, alpha)
        else:
            dq = dq_kernel(q, k, v, o, do, lse, alpha)
            dk, dv = dkv_kernel(q, k, v, o, do, lse, alpha)
        return dq, dk, dv, None, None

def flash_attention(q, k, v, causal=False, alpha=None):
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = 1.0 / math.sqrt(q.shape[3])
    return FlashAttention.apply(q, k, v, causal, alpha)
""",
        title="LSE kept on the class",
    )
)

wrong(
    "train_with_your_kernel",
    "The targets are `batch[:, :-1]`, the characters just read, instead of the next ones, batch[:, 1:]. "
    "And zero_grad is called once before the loop: from the second step on the gradients of all earlier "
    "batches are in the sum.",
    "targets not shifted + gradients pile up",
)(
    written(
        """
import torch.nn.functional as F
from flashlearn.kernels.attention import flash_attention
from functools import partial
from flashlearn.lessons.lesson_09_into_pytorch import training

def train_with_your_kernel(size: training.Size, start, batches):
    model = training.Transformer(size, start)
    optimizer = training.optimizer(model)
    attention = partial(flash_attention, causal=True)
    history = torch.zeros(len(batches))
    optimizer.zero_grad()
    for step in range(len(batches)):
        read = batches[step, :, :-1]
        logits = model(read, attention)
        n_chars = logits.shape[-1]
        loss = F.cross_entropy(logits.reshape(-1, n_chars), read.reshape(-1))
        history[step] = loss.detach()
        loss.backward()
        optimizer.step()
    return history
""",
        title="two mistakes: targets not shifted, gradients never cleared",
    )
)

right("flash_attention", "setup_context, and LSE as a second output")(
    written("""
from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from torch.autograd.function import once_differentiable
from flashlearn.kernels.attention import refuse_misfits

FORWARD = {False: flash_forward, True: flash_forward_causal}
FOR_DQ = {False: dq_kernel, True: dq_kernel_causal}
FOR_DKV = {False: dkv_kernel, True: dkv_kernel_causal}

class FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(q, k, v, causal, alpha):
        return FORWARD[causal](q, k, v, alpha)
    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, ctx.causal, ctx.alpha = inputs
        o, lse = output
        ctx.mark_non_differentiable(lse)
        ctx.save_for_backward(q, k, v, o, lse)
    @staticmethod
    @once_differentiable
    def backward(ctx, do, _):
        q, k, v, o, lse = ctx.saved_tensors
        dk, dv = FOR_DKV[ctx.causal](q, k, v, o, do, lse, ctx.alpha)
        dq = FOR_DQ[ctx.causal](q, k, v, o, do, lse, ctx.alpha)
        return dq, dk, dv, None, None

def flash_attention(q, k, v, causal=False, alpha=None):
    refuse_misfits(q, k, v)
    if alpha is None:
        alpha = q.shape[-1] ** -0.5
    o, _ = FlashAttention.apply(q, k, v, bool(causal), float(alpha))
    return o
""")
)
