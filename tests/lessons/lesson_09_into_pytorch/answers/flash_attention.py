"""Lesson 09: answers to `flash_attention`, around kernels of other lessons' corpus."""

from __future__ import annotations

import math

import torch

from tests.corpus import edited, right, wrong
from tests.lessons.lesson_06_flash_forward.answers.right import fwd_tutorial
from tests.lessons.lesson_06_flash_forward.answers.right_causal import split_loops
from tests.lessons.lesson_07_dq.answers.right import dq_tutorial, dq_tutorial_causal
from tests.lessons.lesson_08_dk_dv.answers.right import dkdv_tutorial, dkdv_tutorial_causal

USED = (
    math,
    torch,
    fwd_tutorial,
    split_loops,
    dq_tutorial,
    dq_tutorial_causal,
    dkdv_tutorial,
    dkdv_tutorial_causal,
)
KERNELS = """
from tests.lessons.lesson_06_flash_forward.answers.right import fwd_tutorial
from tests.lessons.lesson_06_flash_forward.answers.right_causal import split_loops
from tests.lessons.lesson_07_dq.answers.right import dq_tutorial, dq_tutorial_causal
from tests.lessons.lesson_08_dk_dv.answers.right import dkdv_tutorial, dkdv_tutorial_causal


class _attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, is_causal, softmax_scale):
        kernel = split_loops if is_causal else fwd_tutorial
        out, lse = kernel(q, k, v, softmax_scale)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.is_causal = is_causal
        ctx.softmax_scale = softmax_scale
        return out

    @staticmethod
    def backward(ctx, dout):
        q, k, v, out, lse = ctx.saved_tensors
        given = (q, k, v, out, dout, lse, ctx.softmax_scale)
        if ctx.is_causal:
            dq = dq_tutorial_causal(*given)
            dk, dv = dkdv_tutorial_causal(*given)
        else:
            dq = dq_tutorial(*given)
            dk, dv = dkdv_tutorial(*given)
        return dq, dk, dv, None, None


def flash_attention(q, k, v, causal=False, alpha=None):
    if alpha is None:
        alpha = q.shape[-1] ** -0.5
    return _attention.apply(q, k, v, causal, alpha)
"""

SETUP = """
from tests.lessons.lesson_06_flash_forward.answers.right import keys_as_rows
from tests.lessons.lesson_06_flash_forward.answers.right_causal import early_return
from tests.lessons.lesson_07_dq.answers.right import dq_delta_inside, dq_causal_with_an_if
from tests.lessons.lesson_08_dk_dv.answers.right import dkv_backwards, dkv_causal_backwards


class Attention(torch.autograd.Function):
    # forward without ctx; setup_context keeps what is needed; gradients only where they are asked for
    @staticmethod
    def forward(q, k, v, causal, alpha):
        return (early_return if causal else keys_as_rows)(q, k, v, alpha)

    @staticmethod
    def setup_context(ctx, inputs, output):
        q, k, v, ctx.causal, ctx.alpha = inputs
        ctx.save_for_backward(q, k, v, *output)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, do, _):
        q, k, v, o, lse = ctx.saved_tensors
        more = (o, do.contiguous(), lse, ctx.alpha)
        dq = dk = dv = None
        if ctx.needs_input_grad[0]:
            dq = (dq_causal_with_an_if if ctx.causal else dq_delta_inside)(q, k, v, *more)
        if any(ctx.needs_input_grad[1:3]):
            dk, dv = (dkv_causal_backwards if ctx.causal else dkv_backwards)(q, k, v, *more)
        return dq, dk, dv, None, None


def flash_attention(q, k, v, causal=False, alpha=None):
    return Attention.apply(q, k, v, causal, 1 / math.sqrt(q.size(-1)) if alpha is None else alpha)[0]
"""

right("flash_attention", "the tutorial's names, base-2 kernels")(edited(KERNELS, title="tutorial"))
right("flash_attention", "setup_context, gradients only where needed, LSE as a second output that has none")(
    edited(SETUP, title="setup_context")
)
right("flash_attention", "a clone of o and lse kept as attributes of ctx")(
    edited(
        KERNELS,
        (
            "        ctx.save_for_backward(q, k, v, out, lse)\n",
            "        ctx.save_for_backward(q, k, v)\n        ctx.rest = (out.clone(), lse)\n",
        ),
        ("q, k, v, out, lse = ctx.saved_tensors", "(q, k, v), (out, lse) = ctx.saved_tensors, ctx.rest"),
        title="attributes of ctx",
    )
)


def attention(says: str, *names: str):
    return wrong("flash_attention", says, *names)


attention("causal and alpha arrive in each other's place.", "causal and alpha exchanged")(
    edited(KERNELS, ("apply(q, k, v, causal, alpha)", "apply(q, k, v, alpha, causal)"))
)
attention("backward returns three values for five arguments.", "crashed")(
    edited(KERNELS, ("return dq, dk, dv, None, None", "return dq, dk, dv"))
)
attention(
    "dK and dV are those of unmasked attention; dQ is right.",
    "the mask is forgotten on the way back",
    "the mask is forgotten in dK and dV",
)(
    edited(
        KERNELS,
        (
            "            dk, dv = dkdv_tutorial_causal(*given)\n",
            "            dk, dv = dkdv_tutorial(*given)\n",
        ),
    )
)
attention(
    "dQ is those of unmasked attention; dK and dV are right.",
    "the mask is forgotten on the way back",
    "the mask is forgotten in dQ",
)(
    edited(
        KERNELS, ("            dq = dq_tutorial_causal(*given)\n", "            dq = dq_tutorial(*given)\n")
    )
)
attention(
    "dQ is scaled once more, though its kernel has done it.", "alpha applied twice to dQ", "constant factor"
)(edited(KERNELS, ("return dq, dk, dv, None, None", "return dq * ctx.softmax_scale, dk, dv, None, None")))
attention(
    "The mask and the scale are kept on the class, where the next call overwrites them.", "kept on the class"
)(
    edited(
        KERNELS,
        ("ctx.is_causal = is_causal", "_attention.is_causal = is_causal"),
        ("ctx.softmax_scale = softmax_scale", "_attention.softmax_scale = softmax_scale"),
        ("dout, lse, ctx.softmax_scale)", "dout, lse, _attention.softmax_scale)"),
        ("if ctx.is_causal", "if _attention.is_causal"),
        title="mask and scale on the class",
    )
)
attention("LSE is kept on the class, where the next call overwrites it.", "kept on the class")(
    edited(
        KERNELS,
        (
            "ctx.save_for_backward(q, k, v, out, lse)",
            "ctx.save_for_backward(q, k, v, out)\n        _attention.lse = lse",
        ),
        ("q, k, v, out, lse = ctx.saved_tensors", "(q, k, v, out), lse = ctx.saved_tensors, _attention.lse"),
        title="lse on the class",
    )
)
attention("alpha = 0 is taken for none.", "alpha = 0 taken for none")(
    edited(KERNELS, ("if alpha is None:", "if not alpha:"))
)
attention("The default is one over the root of S_q, not of D.", "alpha from S")(
    edited(KERNELS, ("q.shape[-1] ** -0.5", "q.shape[-2] ** -0.5"))
)
attention("The inputs are detached before apply: o hangs on no graph.", "nothing to differentiate")(
    edited(
        KERNELS, ("apply(q, k, v, causal, alpha)", "apply(q.detach(), k.detach(), v.detach(), causal, alpha)")
    )
)
attention("The gradients of q and k come back in each other's place.", "outputs exchanged", "crashed")(
    edited(KERNELS, ("return dq, dk, dv, None, None", "return dk, dq, dv, None, None"))
)
attention(
    "Two mistakes: the backward pass knows neither the mask nor the scale.",
    "the mask is forgotten on the way back + alpha is forgotten on the way back",
)(
    edited(
        KERNELS,
        ("        if ctx.is_causal:", "        if False:"),
        ("dout, lse, ctx.softmax_scale)", "dout, lse, q.shape[-1] ** -0.5)"),
    )
)
attention(
    "Two mistakes: alpha = 0 is taken for none, and dK and dV come back exchanged.",
    "alpha = 0 taken for none + dk and dv exchanged",
    "alpha = 0 taken for none + outputs exchanged",
)(
    edited(
        KERNELS,
        ("if alpha is None:", "if not alpha:"),
        ("return dq, dk, dv, None, None", "return dq, dv, dk, None, None"),
    )
)
attention("q is scaled in place: the caller's tensor changes.", "changed input")(
    edited(
        KERNELS,
        ("        kernel = split_loops", "        q.mul_(softmax_scale)\n        kernel = split_loops"),
        ("kernel(q, k, v, softmax_scale)", "kernel(q, k, v, 1.0)"),
    )
)
attention("dV is not computed at all: None for v.", "shape")(
    edited(KERNELS, ("return dq, dk, dv, None, None", "return dq, dk, None, None, None"))
)
attention(
    "O is saved after it was halved in place for a test: delta is half of what it should be.",
    "delta is halved",
)(
    edited(
        KERNELS,
        ("ctx.save_for_backward(q, k, v, out, lse)", "ctx.save_for_backward(q, k, v, 0.5 * out, lse)"),
    )
)
