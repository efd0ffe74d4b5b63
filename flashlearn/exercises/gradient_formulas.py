"""Attention's backward pass taken apart, so that a wrong formula is one line: the mistakes of 07 and 08.

    >>> alpha_twice = wrong_dq(lambda x: x.alpha * x.alpha * x.ds @ x.k)
    >>> alpha_twice(q, k, v, o, do, lse, alpha)

`Parts` holds the right S, P, dP, delta and dS of one call, in fp32 or fp64; a mistake says what it makes
of them instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from flashlearn import reference


@dataclass(frozen=True)
class Parts:
    """What the right backward pass computes on its way, each under its usual name."""

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor
    do: Tensor
    lse: Tensor
    alpha: float
    causal: bool

    @cached_property
    def visible(self) -> Tensor:
        """[S_q, S_k] booleans."""
        return reference.visible(self.q.shape[-2], self.k.shape[-2], self.causal)

    @cached_property
    def products(self) -> Tensor:
        """Q Kᵀ, neither scaled nor masked."""
        return self.q @ self.k.mT

    def probabilities(self, s: Tensor, lse: Tensor | None = None, seen: Tensor | None = None) -> Tensor:
        """exp(s − lse) where `seen`, 0 elsewhere and for queries whose LSE is −inf."""
        lse = (self.lse if lse is None else lse).unsqueeze(-1)
        seen = (self.visible if seen is None else seen) & (lse != -math.inf)
        return torch.where(seen, (s - torch.where(lse == -math.inf, 0.0, lse)).exp(), 0.0)

    @cached_property
    def p(self) -> Tensor:
        """P = exp(S − LSE)."""
        return self.probabilities(self.alpha * self.products)

    @cached_property
    def dp(self) -> Tensor:
        """dP = dO Vᵀ."""
        return self.do @ self.v.mT

    @cached_property
    def delta(self) -> Tensor:
        """delta_i = Σ_d dO_id O_id, as a column."""
        return reference.attention_delta(self.o, self.do).unsqueeze(-1)

    @cached_property
    def ds(self) -> Tensor:
        """dS = P ∘ (dP − delta)."""
        return self.p * (self.dp - self.delta)

    def ds_of(self, p: Tensor) -> Tensor:
        """dS with other probabilities."""
        return p * (self.dp - self.delta)

    def base2(self) -> Tensor:
        """2^(S log2 e − LSE): the natural LSE taken for one in base 2."""
        return self.probabilities(self.alpha * self.products, self.lse * math.log(2))

    def unscaled(self) -> Tensor:
        """exp(Q Kᵀ − LSE): alpha forgotten in S."""
        return self.probabilities(self.products)

    def seen_until(self, offset: int) -> Tensor:
        """exp(S − LSE) where key j ≤ i + offset."""
        S_q, S_k = self.q.shape[-2], self.k.shape[-2]
        seen = torch.ones(S_q, S_k, dtype=torch.bool).tril(offset)
        return self.probabilities(self.alpha * self.products, seen=seen)

    @property
    def offset(self) -> int:
        """S_k − S_q: how far the bottom-right diagonal lies from the top-left one."""
        return self.k.shape[-2] - self.q.shape[-2]


def _parts(causal: bool, q, k, v, o, do, lse, alpha) -> Parts:
    wide = [t if t.dtype == torch.float64 else t.float() for t in (q, k, v, o, do, lse)]
    return Parts(*wide, alpha, causal)


def wrong_dq(formula: Callable[[Parts], Tensor], causal: bool = False) -> Callable[..., Tensor]:
    """A wrong dq from its formula."""

    def wrong(q, k, v, o, do, lse, alpha):
        return formula(_parts(causal, q, k, v, o, do, lse, alpha)).to(q.dtype)

    return wrong


def wrong_dk_dv(
    formula: Callable[[Parts], tuple[Tensor, Tensor]], causal: bool = False
) -> Callable[..., tuple[Tensor, Tensor]]:
    """A wrong (dk, dv) from its formula."""

    def wrong(q, k, v, o, do, lse, alpha):
        dk, dv = formula(_parts(causal, q, k, v, o, do, lse, alpha))
        return dk.to(k.dtype), dv.to(v.dtype)

    return wrong
