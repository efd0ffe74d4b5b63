"""Which kernels compute a call of attention: the fastest ones that know all that is asked for.

Without features the plain kernels are faster than the pair of the variants: Gluon's on a Hopper GPU, the
tuned Triton kernels elsewhere, and for short problems those that start sooner. On a CPU torch's own
operations do the work: the observed interpreter is for lessons. Tensors are [B, H, S, D], or packed
sequences [T, H, D].
"""

from __future__ import annotations

import contextlib

import torch
from torch import Tensor

from flashlearn.kernels.fast_attention import fast_backward, fast_forward
from flashlearn.kernels.gluon.fa3_attention import hopper_backward, hopper_forward, is_hopper
from flashlearn.kernels.model_attention.backward import variant_backward
from flashlearn.kernels.model_attention.dense import dense_backward, dense_forward
from flashlearn.kernels.model_attention.forward import Extras, variant_forward
from flashlearn.kernels.model_attention.options import Options
from flashlearn.kernels.small_problems import is_short
from flashlearn.kernels.tuned_backward import tuned_backward

__all__ = ["backward", "forward", "is_quick", "way"]

HALVES = (torch.float16, torch.bfloat16)
OF_HOPPER = (64, 128)
"""Values of D that Gluon's kernels know."""


def way(q: Tensor, options: Options, extras: Extras) -> str:
    """ "dense", "variant", "hopper" or "tuned"."""
    if q.device.type == "cpu":
        return "dense"
    if not options.only_causal or not extras.empty:
        return "variant"
    return "hopper" if q.dtype in HALVES and q.shape[-1] in OF_HOPPER and is_hopper() else "tuned"


def is_quick(q: Tensor, k: Tensor) -> bool:
    """Whether plain attention of q and k is for the kernels of short problems, on the current GPU."""
    return is_short(q, k) and 0 < q.numel() * k.numel() and q.device.index == torch.cuda.current_device()


def forward(q: Tensor, k: Tensor, v: Tensor, options: Options, extras: Extras) -> tuple[Tensor, Tensor]:
    """O, contiguous, in q's shape and dtype, and LSE [B, H, S_q], or [1, H, T], in fp32."""
    if 0 in q.shape or 0 in k.shape:  # no program has anything to do
        of_lse = q.shape[:3] if q.ndim == 4 else (1, q.shape[1], q.shape[0])
        return q.new_zeros(q.shape), q.new_full(of_lse, -torch.inf, dtype=torch.float32)
    with _on(q):
        return _forward(q, k, v, options, extras)


def _forward(q: Tensor, k: Tensor, v: Tensor, options: Options, extras: Extras) -> tuple[Tensor, Tensor]:
    chosen = way(q, options, extras)
    if chosen in ("hopper", "tuned"):
        o, lse = (hopper_forward if chosen == "hopper" else fast_forward)(
            q, k, v, options.right is not None, options.alpha
        )
        return o.contiguous(), lse
    compute = dense_forward if chosen == "dense" else variant_forward
    o, lse = compute(_batched(q), _batched(k), _batched(v), options, extras)
    return _as(q, o), lse


def backward(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, options: Options, extras: Extras
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """dQ, dK and dV, contiguous and like q, k and v, and the gradient of the sinks if there are any."""
    if 0 in q.shape or 0 in k.shape:
        none = None if extras.sinks is None else torch.zeros_like(extras.sinks)
        return q.new_zeros(q.shape), k.new_zeros(k.shape), v.new_zeros(v.shape), none
    with _on(q):
        return _backward(do, q, k, v, o, lse, options, extras)


def _backward(
    do: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, options: Options, extras: Extras
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    chosen = way(q, options, extras)
    if chosen in ("hopper", "tuned"):
        compute = hopper_backward if chosen == "hopper" else fast_backward
        if chosen == "hopper" and torch.are_deterministic_algorithms_enabled() and not is_short(q, k):
            compute = tuned_backward  # Gluon's kernel adds dQ in no fixed order
        given = compute(q, k, v, o, do, lse, options.right is not None, options.alpha)
        return (*(t.contiguous() for t in given), None)
    compute = dense_backward if chosen == "dense" else variant_backward
    wide = (_batched(t) for t in (q, k, v, o, do))
    dq, dk, dv, dsinks = compute(*wide, lse, options, extras)
    return _as(q, dq), _as(k, dk), _as(v, dv), dsinks


def _on(q: Tensor) -> contextlib.AbstractContextManager:
    """Triton launches on the current GPU: q's, if there are several."""
    if q.device.type != "cuda" or q.device.index == torch.cuda.current_device():
        return contextlib.nullcontext()
    return torch.cuda.device(q.device)


def _batched(t: Tensor) -> Tensor:
    """[T, H, D] as [1, H, T, D], a view; [B, H, S, D] as it is."""
    return t if t.ndim == 4 else t.transpose(0, 1)[None]


def _as(like: Tensor, t: Tensor) -> Tensor:
    """`_batched` undone, contiguous."""
    return (t if like.ndim == 4 else t[0].transpose(0, 1)).contiguous()
