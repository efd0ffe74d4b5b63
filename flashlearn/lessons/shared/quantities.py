"""What a right kernel's tiles hold on their way to the result, in fp64, for the first divergence.

An exercise's `quantities(inputs)` gives the quantities that its kernels may go through: what is loaded,
S raw and scaled, m, l, P, dP, dS, the sums so far, and the outputs. A sum so far depends on what a program
has visited, so a quantity is a function of a `Window`. Formulas: FlashAttention-2 (Dao, 2023, sections 2.3
and 3.1). NaN in a value means that any number will do there (the maximum of no keys, say).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import numpy as np

from flashlearn.exercise import Inputs
from flashlearn.lessons.shared.quantity_parts import (
    Parts,
    finite,
    from_scores,
    given_pair,
    heads_of,
    in_tile,
    loaded,
    lse_of,
    online,
    output,
    outputs_forward,
    pair,
    parts_of,
    rows_of,
    scores,
    sums,
)
from flashlearn.lessons.shared.reference import LOG2E
from flashlearn.quantity import Array, Quantities, Quantity, Window

DEPENDENCIES = {
    "S": ("q", "k", "Q Kᵀ", "S"),  # of S itself, where it is masked
    "Q Kᵀ": ("q", "k"),
    "m": ("S", "m", "max of a tile"),
    "max of a tile": ("S",),
    "rescale": ("m",),
    "P": ("S", "s", "m", "lse", "P"),
    "P of the whole row": ("P", "l"),
    "l": ("l", "rescale", "P", "sum of a tile", "l brought to the new maximum"),
    "sum of a tile": ("P",),
    "l brought to the new maximum": ("l", "rescale"),
    "acc": ("acc", "rescale", "P", "v", "P V", "acc brought to the new maximum", "a", "b", "A B"),
    "acc brought to the new maximum": ("acc", "rescale"),
    "P V": ("P", "v"),
    "running O": ("running O", "acc", "l", "rescale", "P", "v", "P V"),
    "running LSE": ("running LSE", "m", "l", "S"),
    "o": ("acc", "l"),
    "lse": ("m", "l"),
    "p": ("P", "l", "s", "lse", "S"),
    "inner": ("p", "dp", "P ∘ dP"),
    "P ∘ dP": ("p", "dp"),
    "dP − inner": ("dp", "inner"),
    "ds": ("p", "dp", "inner", "dP − inner"),
    "dO ∘ O": ("o", "do"),
    "delta": ("o", "do", "dO ∘ O"),
    "dP": ("do", "v"),
    "dP − delta": ("dP", "delta"),
    "dS": ("P", "dP", "delta", "dP − delta"),
    "share of dq": ("dS", "k"),
    "dq": ("dS", "k", "dq", "share of dq"),
    "share of dv": ("P", "do"),
    "dv": ("P", "do", "dv", "share of dv"),
    "share of dk": ("dS", "q"),
    "dk": ("dS", "q", "dk", "share of dk"),
    "A B": ("a", "b"),
    "c": ("acc",),
}
"""Of which quantities each is made, directly: what a statement that reads these was meant to make."""


def _all(sizes: Mapping[str, int], known: tuple[Quantity, ...]) -> Quantities:
    return Quantities(sizes, known, DEPENDENCIES)


def attention_forward(inputs: Inputs, causal: bool = False) -> Quantities:
    """S, m, l, P, acc, O and LSE of (q, k, v, alpha); [B, H, S, D], or [S, D] for one head."""
    parts = parts_of(inputs, causal)
    known = (*loaded(parts, "q", "k", "v"), *scores(parts), *online(parts, rows=True))
    o, lse = outputs_forward(parts)
    return _all(parts.sizes, (*known, output("o", "O", ("q", "d"), o), output("lse", "LSE", ("q",), lse)))


def causal_forward(inputs: Inputs) -> Quantities:
    """The same under a causal mask, aligned bottom-right."""
    return attention_forward(inputs, causal=True)


def backward(*outputs: str, causal: bool = False) -> Callable[[Inputs], Quantities]:
    """The `quantities` of an exercise whose outputs are these of "dq", "dk" and "dv"."""
    return functools.partial(attention_backward, outputs=outputs, causal=causal)


def attention_backward(inputs: Inputs, outputs: tuple[str, ...], causal: bool = False) -> Quantities:
    """S, P, dP, delta, dS and the sums of dQ, dK, dV of (q, k, v, o, do, lse, alpha)."""
    x = parts_of(inputs, causal)
    delta = (x.o * x.do).sum(-1)
    dp = x.do @ x.v.swapaxes(-1, -2)
    centred = dp - delta[..., None]
    ds = x.p * centred
    scale = (1.0, x.alpha, LOG2E, x.alpha * LOG2E)
    known = [
        *loaded(x, "q", "k", "v", "do", "o"),
        lse_of(x),
        Quantity("delta", "delta", ("q",), rows_of(delta), "input", whole=delta),
        *scores(x),
        pair("P", "exp(S − LSE)", x.p),
        pair("P", "exp(S − LSE)", np.exp(x.s - finite(x.lse)[..., None]), "unmasked"),
        *_unmasked_p(x),
        pair("dP", "dO Vᵀ", dp),
        pair("dP − delta", "dP − delta", centred),
        pair("dS", "P ∘ (dP − delta)", ds, factors=(1.0, x.alpha)),
        *sums("dq", "dS K", ("q", "k"), ds, x.k, scale),
        *sums("dv", "Pᵀ dO", ("k", "q"), x.p.swapaxes(-1, -2), x.do),
        *sums("dk", "dSᵀ Q", ("k", "q"), ds.swapaxes(-1, -2), x.q, scale),
    ]
    finals = {"dq": ("q", x.alpha * ds @ x.k), "dv": ("k", x.p.swapaxes(-1, -2) @ x.do)}
    finals["dk"] = ("k", x.alpha * ds.swapaxes(-1, -2) @ x.q)
    known += [output(n, "d" + n[1:].upper(), (finals[n][0], "d"), finals[n][1]) for n in outputs]
    return _all(x.sizes, tuple(known))


def _unmasked_p(x: Parts) -> tuple[Quantity, ...]:
    """exp(S − LSE) of all pairs, where a mask hides some."""
    if x.visible.all():
        return ()
    with np.errstate(over="ignore"):
        p = np.exp(x.alpha * x.raw - finite(x.lse)[..., None])
    return (pair("P", "exp(S − LSE)", p, "unmasked"),)


def softmax_forward(inputs: Inputs) -> Quantities:
    """m, l and P of rows s [M, N]."""
    x = from_scores(inputs["s"])
    return _all(x.sizes, (given_pair("s", "S", x.s), *online(x), output("p", "P", ("q", "k"), x.p)))


def logsumexp(inputs: Inputs) -> Quantities:
    """m, l and LSE of rows x [M, N]."""
    x = from_scores(inputs["x"])
    return _all(x.sizes, (given_pair("x", "x", x.s), *online(x), output("lse", "LSE", ("q",), x.lse)))


def probabilities(inputs: Inputs) -> Quantities:
    """P of s [M, N] and lse [M]."""
    x = from_scores(inputs["s"])
    scaled = pair("S", "S", x.s, factors=(1.0, LOG2E), padding=-math.inf)
    return _all(x.sizes, (given_pair("s", "S", x.s), scaled, lse_of(x), output("p", "P", ("q", "k"), x.p)))


def softmax_backward(inputs: Inputs) -> Quantities:
    """The inner product of each row, and dS, of p and dp [M, N]."""
    p, dp = (heads_of(inputs[name]) for name in ("p", "dp"))
    inner = (p * dp).sum(-1)
    known = (
        given_pair("p", "P", p),
        given_pair("dp", "dP", dp),
        pair("P ∘ dP", "P ∘ dP", p * dp),
        Quantity("inner", "the sum of P ∘ dP over the row", ("q",), rows_of(inner)),
        pair("dP − inner", "dP − Σ P ∘ dP", dp - inner[..., None]),
        output("ds", "dS", ("q", "k"), p * (dp - inner[..., None])),
    )
    return _all({"q": p.shape[1], "k": p.shape[2]}, known)


def delta(inputs: Inputs) -> Quantities:
    """dO ∘ O and its sums over d, of o and do [B, H, S, D]."""
    o, do = (heads_of(inputs[name]) for name in ("o", "do"))
    product = Quantity("dO ∘ O", "dO ∘ O", ("q", "d"), lambda w: (o * do)[w.head, w.at["q"]])
    known = (
        *(
            Quantity(n, t, ("q", "d"), rows_of(x), "input", whole=x)
            for n, t, x in (("o", "O", o), ("do", "dO", do))
        ),
        product,
        output("delta", "delta", ("q",), (o * do).sum(-1)),
    )
    return _all({"q": o.shape[1], "d": o.shape[2]}, known)


def matmul(inputs: Inputs) -> Quantities:
    """The sums so far of C = A B: a [M, K], b [K, N]; axes q (rows), i (inner), k (columns)."""
    a, b = (heads_of(inputs[name]) for name in ("a", "b"))

    def total(seen: Callable[[Window], Array]) -> Callable[[Window], Array]:
        return lambda w: a[w.head, w.at["q"]][:, seen(w)] @ b[w.head][seen(w)][:, w.at["k"]]

    known = (
        Quantity("a", "A", ("q", "i"), lambda w: a[w.head, w.at["q"], w.at["i"]], "input", whole=a),
        Quantity("b", "B", ("i", "k"), lambda w: b[w.head, w.at["i"], w.at["k"]], "input", whole=b),
        Quantity("acc", "the sum so far", ("q", "k"), total(lambda w: w.seen["i"]), needs=("i",)),
        Quantity("acc", "the sum so far", ("q", "k"), total(lambda w: w.before["i"]), needs=("i",)),
        Quantity("A B", "this step's product", ("q", "k"), total(lambda w: in_tile(w, "i")), "tile", ("i",)),
        output("c", "C", ("q", "k"), a @ b),
    )
    return _all({"q": a.shape[1], "i": a.shape[2], "k": b.shape[2]}, known)
