"""One attention for models: the package's fastest kernels, with the features that models ask for.

    >>> q, k, v = (torch.randn(2, 8, 1024, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    >>> o = flashlearn.attention(q, k, v, causal=True)                       # [B, H, S_q, D], like q
    >>> o = flashlearn.attention(q, k, v, causal=True, window=256, softcap=30.0)

Differentiable by q, k, v and sinks. docs/attention.md has the shapes, the guarantees and measured times.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from flashlearn.kernels.model_attention import checks, dispatch
from flashlearn.kernels.model_attention.forward import Extras
from flashlearn.kernels.model_attention.operators import NO_SECOND_DERIVATIVE, NO_VMAP, attention_op
from flashlearn.kernels.model_attention.options import STEPS, Options
from flashlearn.kernels.small_problems import short_backward, short_forward

__all__ = ["attention"]

NONE = Extras()


def attention(
    q: Tensor, k: Tensor, v: Tensor, *, causal: bool = False, alpha: float | None = None,
    window: int | tuple[int | None, int | None] | None = None, softcap: float | None = None,
    alibi: Tensor | None = None, sinks: Tensor | None = None, cu_seqlens_q: Tensor | None = None,
    cu_seqlens_k: Tensor | None = None, dropout_p: float = 0.0, seed: Tensor | int | None = None,
) -> Tensor:  # fmt: skip
    """softmax(mask(softcap(alpha Q Kᵀ) − ALiBi)) V, like q, contiguous.

    q is [B, H, S_q, D], k and v are [B, H_k, S_k, D], H_k divides H; with cu_seqlens [sequences + 1] in
    int32, packed sequences [T, H, D]. float32, float16 or bfloat16, D up to 256, any strides.
    `alpha` is 1/√D unless given. Query i is at position i + S_k − S_q, so a causal mask is aligned
    bottom-right. `window` of w shows the keys less than w away, of (left, right) this many before and after.
    `softcap` c makes c · tanh(s / c) of a score. `alibi` are slopes [H] or [B, H], subtracted times the
    distance. `sinks` [H] are logits that take weight from the keys. `dropout_p` of the weights are left out,
    chosen by `seed`, or by torch's generator. Raises TypeError, ValueError or RuntimeError, in a sentence.
    """
    if _is_plain(
        q, k, v, (window, softcap, alibi, sinks, cu_seqlens_q, cu_seqlens_k, seed), alpha, dropout_p
    ):
        alpha = q.shape[3] ** -0.5 if alpha is None else alpha
        options = Options(alpha, None, 0 if causal else None)
        if torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad):
            if dispatch.is_quick(q, k):
                return _Short.apply(q, k, v, causal, alpha)
            return _Attention.apply(q, k, v, None, options, NONE)
        return dispatch.forward(q, k, v, options, NONE)[0]
    packed = cu_seqlens_q is not None or cu_seqlens_k is not None
    q, k, v = _in_autocast(q, k, v)
    checks.refuse_misfits(q, k, v, packed)
    checks.refuse_numbers(alpha, softcap, dropout_p, seed)
    left, right = checks.band(causal, window)
    if packed:
        checks.refuse_bounds(q, k, cu_seqlens_q, cu_seqlens_k)
    if alibi is not None or sinks is not None:
        sequences = cu_seqlens_q.shape[0] - 1 if packed else q.shape[0]
        checks.refuse_slopes_and_sinks(q, alibi, sinks, sequences)
        if alibi is not None:
            alibi = alibi.float().contiguous().expand(sequences, -1)
        if sinks is not None:
            sinks = sinks.float().contiguous()
    threshold = min(round(dropout_p * STEPS), STEPS - 1)
    seed = _seed(seed, q.device) if threshold else None
    tensors = (alibi, sinks, cu_seqlens_q, cu_seqlens_k, seed)
    if torch.compiler.is_compiling() or q.device.type == "meta" or not _is_eager(q, k, v, *tensors):
        return attention_op(q, k, v, *tensors, alpha, left, right, softcap, threshold)[0]
    options = Options(q.shape[-1] ** -0.5 if alpha is None else alpha, left, right, softcap, threshold)
    if _is_transformed():
        return _Transformed.apply(q, k, v, *tensors, options)[0]
    if torch.is_grad_enabled() and _any_requires_grad(q, k, v, sinks):
        return _Attention.apply(q, k, v, sinks, options, Extras(*tensors))
    return dispatch.forward(q, k, v, options, Extras(*tensors))[0]


class _Attention(torch.autograd.Function):
    """What the operators do, with less overhead: a short problem takes no longer than Python does."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, sinks: Tensor | None, options, extras) -> Tensor:
        o, lse = dispatch.forward(q, k, v, options, extras)
        ctx.save_for_backward(q, k, v, o, lse, *vars(extras).values())
        ctx.options = options
        return o

    @staticmethod
    def backward(ctx: Any, do: Tensor) -> tuple:
        q, k, v, o, lse, *tensors = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative may be asked for
            found = _Gradients.apply(do, q, k, v, o, lse, *tensors, ctx.options)
        else:
            found = dispatch.backward(do, q, k, v, o, lse, ctx.options, Extras(*tensors))
        return (*found, None, None)


class _Short(torch.autograd.Function):
    """Short problems without features, where each look at an argument would take longer than the kernels."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> Tensor:
        o, lse = short_forward(q, k, v, causal, alpha)
        ctx.save_for_backward(q, k, v, o, lse)
        ctx.causal, ctx.alpha = causal, alpha
        return o

    @staticmethod
    def backward(ctx: Any, do: Tensor) -> tuple:
        q, k, v, o, lse = ctx.saved_tensors
        if torch.is_grad_enabled():
            options = Options(ctx.alpha, None, 0 if ctx.causal else None)
            dq, dk, dv, _ = _Gradients.apply(do, q, k, v, o, lse, *[None] * 5, options)
        else:
            dq, dk, dv = short_backward(q, k, v, o, do, lse, ctx.causal, ctx.alpha)
        return dq, dk, dv, None, None


class _Transformed(torch.autograd.Function):
    """The same for torch.func.grad, which asks for another form."""

    @staticmethod
    def forward(q: Tensor, k: Tensor, v: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
        *tensors, options = others
        return dispatch.forward(q, k, v, options, Extras(*tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor]) -> None:
        q, k, v, *tensors, options = inputs
        ctx.save_for_backward(q, k, v, *output, *tensors)
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)
        ctx.options = options

    @staticmethod
    def backward(ctx: Any, do: Tensor | None, _: None) -> tuple:
        if do is None:
            return (None,) * 9
        dq, dk, dv, dsinks = _Gradients.apply(do, *ctx.saved_tensors, ctx.options)
        return dq, dk, dv, None, dsinks, None, None, None, None

    @staticmethod
    def vmap(*_: Any) -> tuple:
        raise RuntimeError(NO_VMAP)


class _Gradients(torch.autograd.Function):
    """The gradients, which have none themselves."""

    @staticmethod
    def forward(do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, *others: Any) -> tuple:
        *tensors, options = others
        return dispatch.backward(do, q, k, v, o, lse, options, Extras(*tensors))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        """Nothing is kept."""

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple:
        raise RuntimeError(NO_SECOND_DERIVATIVE)

    @staticmethod
    def vmap(*_: Any) -> tuple:
        raise RuntimeError(NO_VMAP)


def _is_plain(q: Any, k: Any, v: Any, features: tuple, alpha: float | None, dropout_p: float) -> bool:
    """Whether no feature is asked for, and nothing has to be looked at twice: what short problems need."""
    return (
        not torch.compiler.is_compiling()
        and all([one is None for one in features])
        and not dropout_p
        and (alpha is None or math.isfinite(alpha))
        and _is_eager(q, k, v)
        and not _is_transformed()
        and checks.fit(q, k, v)
        and not torch.is_autocast_enabled(q.device.type)
    )


def _in_autocast(*tensors: Tensor) -> list[Tensor]:
    """As autocast wants a product's operands: in its dtype, where it is enabled."""
    kind = tensors[0].device.type if isinstance(tensors[0], Tensor) else "cpu"
    if kind not in ("cuda", "cpu") or not torch.is_autocast_enabled(kind):
        return list(tensors)
    dtype = torch.get_autocast_dtype(kind)
    return [t.to(dtype) if isinstance(t, Tensor) and t.is_floating_point() else t for t in tensors]


def _seed(seed: Tensor | int | None, device: torch.device) -> Tensor:
    """Dropout's seed [1] in int64, on the device: nothing waits for it."""
    if seed is None:
        return torch.randint(2**62, (1,), device=device)
    if isinstance(seed, Tensor):
        return seed.to(device).reshape(1)
    return torch.full((1,), seed, dtype=torch.int64, device=device)


def _is_eager(*tensors: Tensor | None) -> bool:
    """Whether no mode traces the call: these are ordinary tensors, or functorch's."""
    if torch._C._len_torch_dispatch_stack():
        return False
    return all([t is None or type(t) in (Tensor, Parameter) for t in tensors])


def _is_transformed() -> bool:
    """Whether the call is inside of torch.func's grad or vmap."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def _any_requires_grad(*tensors: Tensor | None) -> bool:
    return any([t is not None and t.requires_grad for t in tensors])
