"""Attention as operators of torch: what torch.compile, export and functorch see in place of kernels.

`torch.ops.flashlearn.attention` and its backward pass are opaque to the compiler, with shapes of their own
(fake tensors) and a gradient. Outside of such tracing `autograd` does the same with less overhead.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from flashlearn.kernels.model_attention import dispatch
from flashlearn.kernels.model_attention.forward import Extras
from flashlearn.kernels.model_attention.options import Options

__all__ = ["NO_SECOND_DERIVATIVE", "NO_VMAP", "attention_backward_op", "attention_op"]

NO_SECOND_DERIVATIVE = (
    "flashlearn.attention has no second derivative: differentiate once, or use torch's "
    "scaled_dot_product_attention with SDPBackend.MATH"
)
NO_VMAP = "flashlearn.attention cannot be vmapped: put the dimension into B or H, which are batch dimensions"

OTHERS = (
    "Tensor k, Tensor v, Tensor? slopes, Tensor? sinks, Tensor? cu_q, Tensor? cu_k, Tensor? seed, "
    "float? alpha, int? left, int? right, float? softcap, int threshold"
)


def _options(
    q: Tensor, alpha: float | None, left: int | None, right: int | None, softcap: float | None, threshold: int
) -> Options:
    return Options(q.shape[-1] ** -0.5 if alpha is None else alpha, left, right, softcap, threshold)


@torch.library.custom_op(
    "flashlearn::attention", mutates_args=(), schema=f"(Tensor q, {OTHERS}) -> (Tensor, Tensor)"
)
def attention_op(
    q: Tensor, k: Tensor, v: Tensor, slopes: Tensor | None, sinks: Tensor | None, cu_q: Tensor | None,
    cu_k: Tensor | None, seed: Tensor | None, alpha: float | None, left: int | None, right: int | None,
    softcap: float | None, threshold: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """O and LSE."""
    extras = Extras(slopes, sinks, cu_q, cu_k, seed)
    return dispatch.forward(q, k, v, _options(q, alpha, left, right, softcap, threshold), extras)


@attention_op.register_fake
def _(q, k, v, slopes, sinks, cu_q, cu_k, seed, alpha, left, right, softcap, threshold):
    of_lse = q.shape[:3] if q.ndim == 4 else (1, q.shape[1], q.shape[0])
    return q.new_empty(q.shape), q.new_empty(of_lse, dtype=torch.float32)


@torch.library.custom_op(
    "flashlearn::attention_backward",
    mutates_args=(),
    schema=f"(Tensor do, Tensor q, {OTHERS.replace('Tensor v,', 'Tensor v, Tensor o, Tensor lse,')})"
    " -> (Tensor, Tensor, Tensor, Tensor)",
)
def attention_backward_op(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, slopes: Tensor | None,
    sinks: Tensor | None, cu_q: Tensor | None, cu_k: Tensor | None, seed: Tensor | None, alpha: float | None,
    left: int | None, right: int | None, softcap: float | None, threshold: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """dQ, dK, dV, and the gradient of the sinks, empty where there are none."""
    extras = Extras(slopes, sinks, cu_q, cu_k, seed)
    options = _options(q, alpha, left, right, softcap, threshold)
    dq, dk, dv, dsinks = dispatch.backward(do, q, k, v, o, lse, options, extras)
    if dq.untyped_storage().data_ptr() == dk.untyped_storage().data_ptr():
        dk, dv = dk.clone(), dv.clone()  # an operator's results share no memory, those of short problems do
    return dq, dk, dv, q.new_empty(0, dtype=torch.float32) if dsinks is None else dsinks


@attention_backward_op.register_fake
def _(do, q, k, v, o, lse, slopes, sinks, cu_q, cu_k, seed, alpha, left, right, softcap, threshold):
    of_sinks = (0,) if sinks is None else sinks.shape
    like = (t.new_empty(t.shape) for t in (q, k, v))
    return (*like, q.new_empty(of_sinks, dtype=torch.float32))


def _save(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
    q, k, v, slopes, sinks, cu_q, cu_k, seed, *numbers = inputs
    ctx.save_for_backward(q, k, v, *output, slopes, sinks, cu_q, cu_k, seed)
    ctx.numbers = numbers


def _gradients(ctx: Any, do: Tensor, _: Tensor) -> tuple:
    q, k, v, o, lse, slopes, sinks, cu_q, cu_k, seed = ctx.saved_tensors
    dq, dk, dv, dsinks = attention_backward_op(
        do, q, k, v, o, lse, slopes, sinks, cu_q, cu_k, seed, *ctx.numbers
    )
    return dq, dk, dv, None, None if sinks is None else dsinks, *[None] * 8


def _refuse_second(ctx: Any, *_: Tensor) -> tuple:
    raise RuntimeError(NO_SECOND_DERIVATIVE)


def _refuse_vmap(*_: Any) -> tuple:
    raise RuntimeError(NO_VMAP)


attention_op.register_autograd(_gradients, setup_context=_save)
attention_backward_op.register_autograd(_refuse_second)
attention_op.register_vmap(_refuse_vmap)
attention_backward_op.register_vmap(_refuse_vmap)
