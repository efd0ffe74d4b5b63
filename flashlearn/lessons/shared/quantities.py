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
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from flashlearn.exercise import Inputs
from flashlearn.lessons.shared.reference import LOG2E
from flashlearn.quantity import Array, Quantities, Quantity, Window

MADE_OF = {
    "S": ("q", "k", "Q Kᵀ", "S"),  # of S itself, where it is masked
    "Q Kᵀ": ("q", "k"),
    "m": ("S", "m", "max of a tile"),
    "max of a tile": ("S",),
    "rescale": ("m",),
    "P": ("S", "m", "lse", "P"),
    "P of the whole row": ("P", "l"),
    "l": ("l", "rescale", "P", "sum of a tile", "l brought to the new maximum"),
    "sum of a tile": ("P",),
    "l brought to the new maximum": ("l", "rescale"),
    "acc": ("acc", "rescale", "P", "v", "P V", "acc brought to the new maximum", "a", "b", "A B"),
    "acc brought to the new maximum": ("acc", "rescale"),
    "P V": ("P", "v"),
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
    return Quantities(sizes, known, MADE_OF)


def attention_forward(inputs: Inputs, causal: bool = False) -> Quantities:
    """S, m, l, P, acc, O and LSE of (q, k, v, alpha); [B, H, S, D], or [S, D] for one head."""
    parts = _parts(inputs, causal)
    known = (*_loaded(parts, "q", "k", "v"), *_scores(parts), *_online(parts, rows=True))
    o, lse = _outputs_forward(parts)
    return _all(parts.sizes, (*known, _output("o", "O", ("q", "d"), o), _output("lse", "LSE", ("q",), lse)))


def causal_forward(inputs: Inputs) -> Quantities:
    """The same under a causal mask, aligned bottom-right."""
    return attention_forward(inputs, causal=True)


def backward(*outputs: str, causal: bool = False) -> Callable[[Inputs], Quantities]:
    """The `quantities` of an exercise whose outputs are these of "dq", "dk" and "dv"."""
    return functools.partial(attention_backward, outputs=outputs, causal=causal)


def attention_backward(inputs: Inputs, outputs: tuple[str, ...], causal: bool = False) -> Quantities:
    """S, P, dP, delta, dS and the sums of dQ, dK, dV of (q, k, v, o, do, lse, alpha)."""
    x = _parts(inputs, causal)
    delta = (x.o * x.do).sum(-1)
    dp = x.do @ x.v.swapaxes(-1, -2)
    centred = dp - delta[..., None]
    ds = x.p * centred
    scale = (1.0, x.alpha, LOG2E, x.alpha * LOG2E)
    known = [
        *_loaded(x, "q", "k", "v", "do", "o"),
        _lse(x),
        Quantity("delta", "delta", ("q",), _rows(delta), "input", whole=delta),
        *_scores(x),
        _pair("P", "exp(S − LSE)", x.p),
        _pair("P", "exp(S − LSE)", np.exp(x.s - _finite(x.lse)[..., None]), "unmasked"),
        *_unmasked_p(x),
        _pair("dP", "dO Vᵀ", dp),
        _pair("dP − delta", "dP − delta", centred),
        _pair("dS", "P ∘ (dP − delta)", ds, factors=(1.0, x.alpha)),
        *_sums("dq", "dS K", ("q", "k"), ds, x.k, scale),
        *_sums("dv", "Pᵀ dO", ("k", "q"), x.p.swapaxes(-1, -2), x.do),
        *_sums("dk", "dSᵀ Q", ("k", "q"), ds.swapaxes(-1, -2), x.q, scale),
    ]
    finals = {"dq": ("q", x.alpha * ds @ x.k), "dv": ("k", x.p.swapaxes(-1, -2) @ x.do)}
    finals["dk"] = ("k", x.alpha * ds.swapaxes(-1, -2) @ x.q)
    known += [_output(n, "d" + n[1:].upper(), (finals[n][0], "d"), finals[n][1]) for n in outputs]
    return _all(x.sizes, tuple(known))


def _unmasked_p(x: _Parts) -> tuple[Quantity, ...]:
    """exp(S − LSE) of all pairs, where a mask hides some."""
    if x.visible.all():
        return ()
    with np.errstate(over="ignore"):
        p = np.exp(x.alpha * x.raw - _finite(x.lse)[..., None])
    return (_pair("P", "exp(S − LSE)", p, "unmasked"),)


def softmax_forward(inputs: Inputs) -> Quantities:
    """m, l and P of rows s [M, N]."""
    x = _from_scores(inputs["s"])
    return _all(x.sizes, (_given_pair("s", "S", x.s), *_online(x), _output("p", "P", ("q", "k"), x.p)))


def logsumexp(inputs: Inputs) -> Quantities:
    """m, l and LSE of rows x [M, N]."""
    x = _from_scores(inputs["x"])
    return _all(x.sizes, (_given_pair("x", "x", x.s), *_online(x), _output("lse", "LSE", ("q",), x.lse)))


def probabilities(inputs: Inputs) -> Quantities:
    """P of s [M, N] and lse [M]."""
    x = _from_scores(inputs["s"])
    scaled = _pair("S", "S", x.s, factors=(1.0, LOG2E), padding=-math.inf)
    return _all(x.sizes, (_given_pair("s", "S", x.s), scaled, _lse(x), _output("p", "P", ("q", "k"), x.p)))


def softmax_backward(inputs: Inputs) -> Quantities:
    """The inner product of each row, and dS, of p and dp [M, N]."""
    p, dp = (_heads(inputs[name], 2) for name in ("p", "dp"))
    inner = (p * dp).sum(-1)
    known = (
        _given_pair("p", "P", p),
        _given_pair("dp", "dP", dp),
        _pair("P ∘ dP", "P ∘ dP", p * dp),
        Quantity("inner", "the sum of P ∘ dP over the row", ("q",), _rows(inner)),
        _pair("dP − inner", "dP − Σ P ∘ dP", dp - inner[..., None]),
        _output("ds", "dS", ("q", "k"), p * (dp - inner[..., None])),
    )
    return _all({"q": p.shape[1], "k": p.shape[2]}, known)


def delta(inputs: Inputs) -> Quantities:
    """dO ∘ O and its sums over d, of o and do [B, H, S, D]."""
    o, do = (_heads(inputs[name], 2) for name in ("o", "do"))
    product = Quantity("dO ∘ O", "dO ∘ O", ("q", "d"), lambda w: (o * do)[w.head, w.at["q"]])
    known = (
        *(
            Quantity(n, t, ("q", "d"), _rows(x), "input", whole=x)
            for n, t, x in (("o", "O", o), ("do", "dO", do))
        ),
        product,
        _output("delta", "delta", ("q",), (o * do).sum(-1)),
    )
    return _all({"q": o.shape[1], "d": o.shape[2]}, known)


def matmul(inputs: Inputs) -> Quantities:
    """The sums so far of C = A B: a [M, K], b [K, N]; axes q (rows), i (inner), k (columns)."""
    a, b = (_heads(inputs[name], 2) for name in ("a", "b"))

    def total(seen: Callable[[Window], Array]) -> Callable[[Window], Array]:
        return lambda w: a[w.head, w.at["q"]][:, seen(w)] @ b[w.head][seen(w)][:, w.at["k"]]

    known = (
        Quantity("a", "A", ("q", "i"), lambda w: a[w.head, w.at["q"], w.at["i"]], "input", whole=a),
        Quantity("b", "B", ("i", "k"), lambda w: b[w.head, w.at["i"], w.at["k"]], "input", whole=b),
        Quantity("acc", "the sum so far", ("q", "k"), total(lambda w: w.seen["i"]), needs=("i",)),
        Quantity("acc", "the sum so far", ("q", "k"), total(lambda w: w.before["i"]), needs=("i",)),
        Quantity("A B", "this step's product", ("q", "k"), total(lambda w: _mask(w, "i")), "tile", ("i",)),
        _output("c", "C", ("q", "k"), a @ b),
    )
    return _all({"q": a.shape[1], "i": a.shape[2], "k": b.shape[2]}, known)


# ---------------------------------------------------------------- the parts that they share


@dataclass
class _Parts:
    """Whole matrices by head, fp64; s and p carry the mask, raw does not."""

    sizes: dict[str, int]
    s: Array
    visible: Array
    lse: Array
    p: Array
    alpha: float = 1.0
    raw: Array | None = None
    q: Array | None = None
    k: Array | None = None
    v: Array | None = None
    o: Array | None = None
    do: Array | None = None


def _parts(inputs: Inputs, causal: bool) -> _Parts:
    q, k, v = (_heads(inputs[name], 2) for name in ("q", "k", "v"))
    S_q, S_k = q.shape[1], k.shape[1]
    visible = np.tri(S_q, S_k, S_k - S_q, dtype=bool) if causal else np.ones((S_q, S_k), bool)
    raw = q @ k.swapaxes(-1, -2)
    alpha = float(inputs["alpha"])
    x = _with_scores(np.where(visible, alpha * raw, -math.inf), visible)
    x.sizes["d"] = q.shape[2]
    x.raw, x.q, x.k, x.v, x.alpha = raw, q, k, v, alpha
    if "do" in inputs:
        x.o, x.do = _heads(inputs["o"], 2), _heads(inputs["do"], 2)
    return x


def _from_scores(s: Tensor) -> _Parts:
    s = _heads(s, 2)
    return _with_scores(s, np.ones(s.shape[1:], bool))


def _with_scores(s: Array, visible: Array) -> _Parts:
    with np.errstate(all="ignore"):
        top = s.max(-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        lse = (top + np.log(np.exp(s - top).sum(-1, keepdims=True)))[..., 0]
        p = np.where(np.isfinite(lse)[..., None], np.exp(s - _finite(lse)[..., None]), 0.0)
    return _Parts({"q": s.shape[1], "k": s.shape[2]}, s, visible, lse, np.nan_to_num(p))


def _heads(x: Tensor, last: int) -> Array:
    """[…, a, b] → [heads, a, b] in fp64."""
    return x.detach().to(torch.float64).reshape(-1, *x.shape[x.ndim - last :]).numpy()


def _finite(x: Array) -> Array:
    """−inf becomes NaN: a row that sees nothing is guarded in many ways, all right."""
    return np.where(np.isinf(x), np.nan, x)


def _rows(x: Array) -> Callable[[Window], Array]:
    return lambda w: x[w.head, w.at["q"]]


def _mask(window: Window, axis: str) -> Array:
    mask = np.zeros(len(window.seen[axis]), bool)
    mask[window.at[axis]] = True
    return mask


def _pair(name: str, words: str, x: Array, kind: str = "step", **more) -> Quantity:
    return Quantity(name, words, ("q", "k"), lambda w: x[w.head, w.at["q"], w.at["k"]], kind, **more)


def _given_pair(name: str, words: str, x: Array) -> Quantity:
    return _pair(name, words, x, "input", padding=-math.inf if name in "sx" else 0.0, whole=x)


def _lse(x: _Parts) -> Quantity:
    return Quantity(
        "lse", "LSE", ("q",), _rows(_finite(x.lse)), "input", factors=(1.0, LOG2E), whole=x.lse
    )  # fmt: skip


def _output(name: str, words: str, axes: tuple[str, ...], x: Array) -> Quantity:
    def value(w: Window) -> Array:
        return x[(w.head, *(w.at[a] for a in axes if a != "d"))]

    return Quantity(name, words, axes, value, "output")


def _loaded(x: _Parts, *names: str) -> list[Quantity]:
    words = {"q": "Q", "k": "K", "v": "V", "o": "O", "do": "dO"}
    found = []
    for name in names:
        whole, axis = getattr(x, name), "k" if name in "kv" else "q"
        found.append(
            Quantity(
                name,
                words[name],
                (axis, "d"),
                lambda w, whole=whole, axis=axis: whole[w.head, w.at[axis]],
                "input",
                whole=whole,
            )
        )
    return found


def _scores(x: _Parts) -> list[Quantity]:
    scaled = x.alpha * x.raw
    hidden = np.broadcast_to(np.where(x.visible, 0.0, -math.inf), x.raw.shape)
    visible = np.broadcast_to(x.visible, x.raw.shape)
    found = [
        _pair("S", "alpha Q Kᵀ", x.s, factors=(1.0, LOG2E), padding=-math.inf),
        _pair("Q Kᵀ", "Q Kᵀ", x.raw, "unscaled", factors=(1.0, LOG2E), padding=-math.inf),
    ]
    if not x.visible.all():
        found += [
            _pair("S", "alpha Q Kᵀ", scaled, "unmasked", factors=(1.0, LOG2E), padding=-math.inf),
            _pair("Q Kᵀ", "Q Kᵀ", np.where(x.visible, x.raw, -math.inf), "unscaled", padding=-math.inf),
            _pair("visible", "the mask of the keys that a query sees", visible),
            _pair("bias", "0 for keys that a query sees, −inf for the others", hidden, padding=-math.inf),
        ]
    return found


def _online(x: _Parts, rows: bool = False) -> list[Quantity]:
    """What a scan over keys carries: m, the factor for what is old, P, l, and, with `rows`, acc."""

    def top(w: Window, seen: Array) -> Array:
        s = x.s[w.head, w.at["q"]][:, seen]
        m = s.max(-1) if s.shape[1] else np.full(len(s), -math.inf)
        return _finite(m)

    def weights(w: Window, seen: Array, counted: Array) -> Array:
        return np.exp(x.s[w.head, w.at["q"]][:, counted] - top(w, seen)[:, None])

    of_m = (1.0, LOG2E, *([1 / x.alpha] if x.alpha > 0 and x.alpha != 1 else []))
    so_far, k = "over the keys seen so far", ("k",)
    found = [
        Quantity("m", f"the maximum of S {so_far}", ("q",), lambda w: top(w, w.seen["k"]), "step", k, of_m),
        Quantity("m", f"the maximum of S {so_far}", ("q",), lambda w: top(w, w.before["k"]), "step", k, of_m),
        Quantity(
            "max of a tile", "the tile's maximum", ("q",), lambda w: top(w, _mask(w, "k")), "tile", k, of_m
        ),
        Quantity(
            "rescale", "exp(m_old − m_new)", ("q",),
            lambda w: np.exp(top(w, w.before["k"]) - top(w, w.seen["k"])), needs=k,
        ),
        Quantity(
            "P", "exp(S − m)", ("q", "k"), lambda w: weights(w, w.seen["k"], _mask(w, "k")),
        ),
        Quantity(
            "sum of a tile", "the tile's sum of exp(S − m)", ("q",),
            lambda w: weights(w, w.seen["k"], _mask(w, "k")).sum(-1), "tile", k,
        ),
        _pair("P of the whole row", "exp(S − LSE)", x.p),
    ]  # fmt: skip
    for name in ("seen", "before"):

        def of(w: Window, name: str = name) -> Array:
            return getattr(w, name)["k"]

        found += [
            Quantity(
                "l", f"the sum of exp(S − m) {so_far}", ("q",),
                lambda w, of=of: weights(w, of(w), of(w)).sum(-1), needs=k,
            ),
            Quantity(
                "l brought to the new maximum", f"the sum of exp(S − m) {so_far}", ("q",),
                lambda w: weights(w, w.seen["k"], w.before["k"]).sum(-1), needs=k,
            ),
            Quantity(
                "running LSE", f"log of the sum of exp(S) {so_far}", ("q",),
                lambda w, of=of: top(w, of(w)) + np.log(weights(w, of(w), of(w)).sum(-1)),
                needs=k, factors=(1.0, LOG2E),
            ),
        ]  # fmt: skip
        if rows:
            found += [
                Quantity(
                    "acc", f"the sum of exp(S − m) V {so_far}", ("q", "d"),
                    lambda w, of=of: weights(w, of(w), of(w)) @ x.v[w.head][of(w)], needs=k,
                ),
                Quantity(
                    "acc brought to the new maximum", f"the sum of exp(S − m) V {so_far}", ("q", "d"),
                    lambda w: weights(w, w.seen["k"], w.before["k"]) @ x.v[w.head][w.before["k"]], needs=k,
                ),
                Quantity(
                    "running O", f"the mean of V {so_far}", ("q", "d"),
                    lambda w, of=of: weights(w, of(w), of(w)) @ x.v[w.head][of(w)]
                    / weights(w, of(w), of(w)).sum(-1)[:, None], needs=k,
                ),
            ]  # fmt: skip
    if rows:
        found.append(
            Quantity(
                "P V",
                "this tile's P V",
                ("q", "d"),
                lambda w: weights(w, w.seen["k"], _mask(w, "k")) @ x.v[w.head][_mask(w, "k")],
                "tile",
                k,
            )
        )
    return found


def _sums(
    name: str, words: str, axes: tuple[str, str], left: Array, right: Array, factors: tuple = (1.0,)
) -> list[Quantity]:
    """Sums of left @ right over axis `axes[1]`: so far, with and without the present tile, and its share."""
    own, over = axes

    def total(seen: Callable[[Window], Array]) -> Callable[[Window], Array]:
        return lambda w: left[w.head, w.at[own]][:, seen(w)] @ right[w.head][seen(w)]

    so_far = f"the sum of {words} over the {'keys' if over == 'k' else 'queries'} seen so far"
    return [
        Quantity(name, so_far, (own, "d"), total(lambda w: w.seen[over]), "step", (over,), factors),
        Quantity(name, so_far, (own, "d"), total(lambda w: w.before[over]), "step", (over,), factors),
        Quantity(
            f"share of {name}", f"this tile's {words}", (own, "d"), total(lambda w: _mask(w, over)),
            "tile", (over,), factors,
        ),
    ]  # fmt: skip


def _outputs_forward(x: _Parts) -> tuple[Array, Array]:
    return x.p @ x.v, x.lse
