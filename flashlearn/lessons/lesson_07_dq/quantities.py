"""What the tiles of dQ without delta hold on their way: three sums that grow side by side."""

from __future__ import annotations

from flashlearn.exercise import Inputs
from flashlearn.lessons.shared.quantities import DEPENDENCIES
from flashlearn.lessons.shared.quantity_parts import (
    in_tile,
    loaded,
    lse_of,
    output,
    pair,
    parts_of,
    scores,
    sums,
)
from flashlearn.quantity import Array, Quantities, Quantity, Window

KEYS = ("k",)

SUM_DEPENDENCIES = {
    "P ∘ dP": ("P", "dP"),
    "delta so far": ("delta so far", "P ∘ dP", "share of delta"),
    "share of delta": ("P ∘ dP",),
    "sum of P K": ("sum of P K", "share of sum of P K", "P", "k"),
    "share of sum of P K": ("P", "k"),
    "sum of P ∘ dP K": ("sum of P ∘ dP K", "share of sum of P ∘ dP K", "P ∘ dP", "k"),
    "share of sum of P ∘ dP K": ("P ∘ dP", "k"),
    "dq": ("sum of P ∘ dP K", "delta so far", "sum of P K"),
}


def without_delta(inputs: Inputs) -> Quantities:
    """S, P, dP, P ∘ dP and the sums so far of P ∘ dP, P K and (P ∘ dP) K, of (q, k, v, do, lse, alpha)."""
    x = parts_of(inputs, causal=False)
    dp = x.do @ x.v.swapaxes(-1, -2)
    weighted = x.p * dp

    def seen_sum(w: Window, seen: Array) -> Array:
        return weighted[w.head, w.at["q"]][:, seen].sum(-1)

    name, words = "delta so far", "the sum of P ∘ dP over the keys seen so far"
    known = (
        *loaded(x, "q", "k", "v", "do"),
        lse_of(x),
        *scores(x),
        pair("P", "exp(S − LSE)", x.p),
        pair("dP", "dO Vᵀ", dp),
        pair("P ∘ dP", "P ∘ dP", weighted),
        Quantity(name, words, ("q",), lambda w: seen_sum(w, w.seen["k"]), needs=KEYS),
        Quantity(name, words, ("q",), lambda w: seen_sum(w, w.before["k"]), needs=KEYS),
        Quantity(
            "share of delta", "this tile's sum of P ∘ dP", ("q",), lambda w: seen_sum(w, in_tile(w, "k")),
            "tile", KEYS,
        ),
        *sums("sum of P K", "P K", ("q", "k"), x.p, x.k),
        *sums("sum of P ∘ dP K", "(P ∘ dP) K", ("q", "k"), weighted, x.k),
        output("dq", "dQ", ("q", "d"), x.alpha * (weighted - x.p * weighted.sum(-1, keepdims=True)) @ x.k),
    )  # fmt: skip
    return Quantities(x.sizes, known, {**DEPENDENCIES, **SUM_DEPENDENCIES})
