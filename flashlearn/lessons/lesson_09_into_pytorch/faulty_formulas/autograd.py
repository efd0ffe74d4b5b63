"""flash_attention's two passes in torch, with faults by name: what lesson 09's mistakes compute.

    >>> o, dq, dk, dv = passes(q, k, v, True, 0.3, do, faults=frozenset({"no mask backward"}))
    >>> o = passes(q, k, v, True, 0.3, faults=frozenset({"no mask backward"}))   # and o.backward() is wrong

The kernels are right here; what goes wrong is what they are handed. Several faults can be made at once.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults

OTHER_ALPHA = 0.7
KEPT = "kept: "
"""A fault "kept: lse, alpha" keeps these on the class, where a call in between overwrites them."""
KEPT_TOGETHER = tuple(
    KEPT + names
    for names in (
        *("q, k, v, o, lse, causal, alpha", "q, k, v, o, lse", "q, k, v, causal, alpha", "q, k, v"),
        *("o, lse, causal, alpha", "o, lse", "o", "lse", "causal, alpha", "causal", "alpha"),
    )
)
"""What people keep there: all of it, or some."""

ALPHA_LENGTHS = {
    "alpha from S_q": lambda q, k: q.shape[-2],
    "alpha from S_k": lambda q, k: k.shape[-2],
    "alpha from H": lambda q, k: q.shape[1],
}
"""Defaults of alpha: one over the root of another length than D."""


@dataclass(frozen=True)
class SavedState:
    """What the backward pass finds: tensors, the mask and the scale, of the forward pass if all is well."""

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor
    lse: Tensor
    causal: bool
    alpha: float


def other_call(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> tuple:
    """The arguments of the call in between: every one of them is another."""
    return (*(t.detach().flip(2) for t in (q, k, v)), not causal, OTHER_ALPHA)


def passes(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = False, alpha: float | None = None,
    do: Tensor | None = None, another_call: bool = False, faults: Faults = NONE,
) -> tuple[Tensor, ...] | Tensor:  # fmt: skip
    """(o, dq, dk, dv), or without `do` o alone, on a graph whose backward pass has the faults."""
    if do is None:
        return _differentiable(q, k, v, causal, alpha, faults)
    saved = forward(q, k, v, causal, alpha, faults)
    found = forward(*other_call(q, k, v, causal), faults) if another_call else saved
    if "no graph" in faults:
        return (saved.o, *(torch.full_like(t, math.nan) for t in (q, k, v)))
    return (saved.o, *backward(mixed(saved, found, faults), do, faults))


def forward(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float | None, faults: Faults) -> SavedState:
    """What the forward pass computes, and would keep."""
    default = 1 / math.sqrt(q.shape[-1])
    if "zero is no alpha" in faults:
        alpha = alpha or default
    if "given alpha ignored" in faults:
        alpha = default
    if alpha is None:
        length = next((f for name, f in ALPHA_LENGTHS.items() if name in faults), None)
        alpha = 1.0 if "no default" in faults else default if length is None else length(q, k) ** -0.5
    if "causal and alpha exchanged" in faults:
        causal, alpha = bool(alpha), float(causal)
    if "no mask" in faults:
        causal = False
    asked = causal
    if "mask turned round" in faults:
        causal = not causal
    if "always a mask" in faults:
        causal = True
    if "q scaled beforehand" in faults:
        q, alpha = q * alpha, 1.0
    o, lse = reference.attention_forward(q, k, v, alpha, causal)
    return SavedState(q, k, v, o, lse, asked if "as asked backward" in faults else causal, alpha)


def mixed(own: SavedState, last: SavedState, faults: Faults) -> SavedState:
    """What a call's backward pass finds if some of it was kept where the last call overwrote it."""
    shared = [name for fault in faults if fault.startswith(KEPT) for name in fault[len(KEPT) :].split(", ")]
    return dataclasses.replace(own, **{name: getattr(last, name) for name in shared})


def backward(saved: SavedState, do: Tensor, faults: Faults) -> tuple[Tensor, Tensor, Tensor]:
    """(dq, dk, dv), each from kernels that are right and arguments that need not be."""
    q, k, v, o, lse, causal, alpha = (getattr(saved, f.name) for f in dataclasses.fields(saved))
    if "default alpha backward" in faults:
        alpha = 1 / math.sqrt(q.shape[-1])
    if "no alpha backward" in faults:
        alpha = 1.0
    if "LSE of all keys" in faults:
        lse = (alpha * (q.to(lse.dtype) @ k.to(lse.dtype).mT)).logsumexp(-1)
    if "o halved" in faults:
        o = o / 2
    if "no delta" in faults:
        o = torch.zeros_like(o)
    if "dO of ones" in faults:
        do = torch.ones_like(do)
    if "o and do exchanged" in faults:
        o, do = do, o
    if "k and v exchanged" in faults:
        k, v = v, k
    in_dq = causal and not faults & {"no mask backward", "no mask in dq"}
    in_dkv = causal and not faults & {"no mask backward", "no mask in dkv"}
    guarded = "guarded" in faults
    dq = _gradients(q, k, v, o, do, lse, alpha, in_dq, guarded)[0]
    dk, dv = _gradients(q, k, v, o, do, lse, alpha, in_dkv, guarded)[1:]
    dq = alpha * dq if "dq scaled again" in faults else dq
    dk = alpha * dk if "dk scaled again" in faults else dk
    if "dk and dv exchanged" in faults:
        dk, dv = dv, dk
    return dq, dk, dv


def _gradients(q, k, v, o, do, lse, alpha, causal, guarded) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) in the inputs' dtypes, P and dS rounded to them on the way, as kernels do.

    A kernel without a mask need not expect an LSE of −∞: unless it is guarded, its P is infinite there.
    """
    if not causal and not guarded:
        lse = lse.clamp(min=torch.finfo(lse.dtype).min)
    return reference.attention_gradients_rounded(q, k, v, o, do, lse, alpha, causal)


def _differentiable(q, k, v, causal, alpha, faults) -> Tensor:
    """The same as an autograd.Function: o, whose backward pass has the faults."""
    if "no graph" in faults:
        return forward(q.detach(), k.detach(), v.detach(), causal, alpha, faults).o
    last = _last_calls.setdefault(faults, [None])

    class Faulty(torch.autograd.Function):
        @staticmethod
        def forward(ctx, q, k, v):
            ctx.own = last[0] = forward(q, k, v, causal, alpha, faults)
            return ctx.own.o

        @staticmethod
        def backward(ctx, do):
            return backward(mixed(ctx.own, last[0], faults), do, faults)

    return Faulty.apply(q, k, v)


_last_calls: dict[Faults, list] = {}
"""What the last call left, for the faults that keep it outside."""
