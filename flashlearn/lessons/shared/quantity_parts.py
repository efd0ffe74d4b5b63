"""The quantities of attention from which those of an exercise are put together, in fp64.

`Parts` are whole matrices by head; the functions here make `Quantity` values of them: what a program's tiles
hold in a `Window`, which names a head, the rows and columns of a tile, and what the scan has seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from flashlearn.exercise import Inputs
from flashlearn.lessons.shared.reference import LOG2E
from flashlearn.quantity import Array, Quantity, Window


@dataclass
class Parts:
    """Whole matrices of N = B·H heads, fp64; s and p carry the mask, raw does not.

    `sizes` are S_q, S_k and D by the axes' names "q", "k" and "d".
    """

    sizes: dict[str, int]
    s: Array  # (N, S_q, S_k), −inf where hidden
    visible: Array  # (S_q, S_k), bool
    lse: Array  # (N, S_q), −inf for a query that sees no key
    p: Array  # (N, S_q, S_k), 0 where hidden
    alpha: float = 1.0
    raw: Array | None = None  # (N, S_q, S_k), Q Kᵀ without alpha and without the mask
    q: Array | None = None  # (N, S_q, D)
    k: Array | None = None  # (N, S_k, D)
    v: Array | None = None  # (N, S_k, D)
    o: Array | None = None  # (N, S_q, D)
    do: Array | None = None  # (N, S_q, D)


def parts_of(inputs: Inputs, causal: bool) -> Parts:
    """The parts of q [B, H, S_q, D], k and v [B, H, S_k, D] and alpha; o and do [B, H, S_q, D] if given."""
    q, k, v = (heads_of(inputs[name]) for name in ("q", "k", "v"))
    S_q, S_k = q.shape[1], k.shape[1]
    visible = np.tri(S_q, S_k, S_k - S_q, dtype=bool) if causal else np.ones((S_q, S_k), bool)
    raw = q @ k.swapaxes(-1, -2)
    alpha = float(inputs["alpha"])
    x = _with_scores(np.where(visible, alpha * raw, -math.inf), visible)
    x.sizes["d"] = q.shape[2]
    x.raw, x.q, x.k, x.v, x.alpha = raw, q, k, v, alpha
    x.o, x.do = (heads_of(inputs[name]) if name in inputs else None for name in ("o", "do"))
    return x


def from_scores(s: Tensor) -> Parts:
    """The parts of scores [..., S_q, S_k] alone, with every key visible."""
    by_head = heads_of(s)
    return _with_scores(by_head, np.ones(by_head.shape[1:], bool))


def _with_scores(s: Array, visible: Array) -> Parts:
    """Sizes, LSE and P of masked scores (N, S_q, S_k)."""
    with np.errstate(all="ignore"):
        top = s.max(-1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        lse = (top + np.log(np.exp(s - top).sum(-1, keepdims=True)))[..., 0]
        p = np.where(np.isfinite(lse)[..., None], np.exp(s - finite(lse)[..., None]), 0.0)
    return Parts({"q": s.shape[1], "k": s.shape[2]}, s, visible, lse, np.nan_to_num(p))


def heads_of(x: Tensor) -> Array:
    """[…, a, b] → (N, a, b) in fp64."""
    return x.detach().to(torch.float64).reshape(-1, *x.shape[-2:]).numpy()


def finite(x: Array) -> Array:
    """−inf becomes NaN: a row that sees nothing is guarded in many ways, all right."""
    return np.where(np.isinf(x), np.nan, x)


def rows_of(x: Array) -> Callable[[Window], Array]:
    """Reads the tile's queries off x (N, S_q) or (N, S_q, D): (tile,) or (tile, D)."""
    return lambda w: x[w.head, w.at["q"]]


def in_tile(window: Window, axis: str) -> Array:
    """The positions of the axis that are in the present tile: (S,), bool."""
    mask = np.zeros(len(window.seen[axis]), bool)
    mask[window.at[axis]] = True
    return mask


def pair(name: str, words: str, x: Array, kind: str = "step", **more) -> Quantity:
    """A number for each pair of query and key: a tile (queries, keys) of x (N, S_q, S_k)."""
    return Quantity(name, words, ("q", "k"), lambda w: x[w.head, w.at["q"], w.at["k"]], kind, **more)


def given_pair(name: str, words: str, x: Array) -> Quantity:
    """The same for a matrix that the kernel loads, with what belongs in its padding."""
    return pair(name, words, x, "input", padding=-math.inf if name in "sx" else 0.0, whole=x)


def lse_of(x: Parts) -> Quantity:
    """LSE as the kernel loads it: the tile's queries of (N, S_q), in base e or base 2."""
    return Quantity(
        "lse", "LSE", ("q",), rows_of(finite(x.lse)), "input", factors=(1.0, LOG2E), whole=x.lse
    )  # fmt: skip


def output(name: str, words: str, axes: tuple[str, ...], x: Array) -> Quantity:
    """A finished output: the tile of x (N, *axes); "d" is never cut."""

    def value(w: Window) -> Array:
        return x[(w.head, *(w.at[a] for a in axes if a != "d"))]

    return Quantity(name, words, axes, value, "output")


def loaded(x: Parts, *names: str) -> list[Quantity]:
    """Tiles (rows, D) of the inputs called "q", "k", "v", "o" or "do"."""
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


def scores(x: Parts) -> list[Quantity]:
    """Tiles (queries, keys) of S and Q Kᵀ, with and without alpha and the mask, and of the mask itself."""
    scaled = x.alpha * x.raw
    hidden = np.broadcast_to(np.where(x.visible, 0.0, -math.inf), x.raw.shape)
    visible = np.broadcast_to(x.visible, x.raw.shape)
    found = [
        pair("S", "alpha Q Kᵀ", x.s, factors=(1.0, LOG2E), padding=-math.inf),
        pair("Q Kᵀ", "Q Kᵀ", x.raw, "unscaled", factors=(1.0, LOG2E), padding=-math.inf),
    ]
    if not x.visible.all():
        found += [
            pair("S", "alpha Q Kᵀ", scaled, "unmasked", factors=(1.0, LOG2E), padding=-math.inf),
            pair("Q Kᵀ", "Q Kᵀ", np.where(x.visible, x.raw, -math.inf), "unscaled", padding=-math.inf),
            pair("visible", "the mask of the keys that a query sees", visible),
            pair("bias", "0 for keys that a query sees, −inf for the others", hidden, padding=-math.inf),
        ]
    return found


def online(x: Parts, rows: bool = False) -> list[Quantity]:
    """What a scan over keys carries, by query: m, the factor for old sums, P, l; with `rows` acc (q, D)."""

    def top(w: Window, seen: Array) -> Array:
        s = x.s[w.head, w.at["q"]][:, seen]
        m = s.max(-1) if s.shape[1] else np.full(len(s), -math.inf)
        return finite(m)

    def weights(w: Window, seen: Array, counted: Array) -> Array:
        return np.exp(x.s[w.head, w.at["q"]][:, counted] - top(w, seen)[:, None])

    of_m = (1.0, LOG2E, *([1 / x.alpha] if x.alpha > 0 and x.alpha != 1 else []))
    so_far, k = "over the keys seen so far", ("k",)
    found = [
        Quantity("m", f"the maximum of S {so_far}", ("q",), lambda w: top(w, w.seen["k"]), "step", k, of_m),
        Quantity("m", f"the maximum of S {so_far}", ("q",), lambda w: top(w, w.before["k"]), "step", k, of_m),
        Quantity(
            "max of a tile", "the tile's maximum", ("q",), lambda w: top(w, in_tile(w, "k")), "tile", k, of_m
        ),
        Quantity(
            "rescale", "exp(m_old − m_new)", ("q",),
            lambda w: np.exp(top(w, w.before["k"]) - top(w, w.seen["k"])), needs=k,
        ),
        Quantity(
            "P", "exp(S − m)", ("q", "k"), lambda w: weights(w, w.seen["k"], in_tile(w, "k")),
        ),
        Quantity(
            "sum of a tile", "the tile's sum of exp(S − m)", ("q",),
            lambda w: weights(w, w.seen["k"], in_tile(w, "k")).sum(-1), "tile", k,
        ),
        pair("P of the whole row", "exp(S − LSE)", x.p),
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
                lambda w: weights(w, w.seen["k"], in_tile(w, "k")) @ x.v[w.head][in_tile(w, "k")],
                "tile",
                k,
            )
        )
    return found


def sums(
    name: str, words: str, axes: tuple[str, str], left: Array, right: Array, factors: tuple = (1.0,)
) -> list[Quantity]:
    """Sums of left @ right over axis `axes[1]`: so far, with and without the present tile, and its share.

    `left` is (N, S_own, S_over), `right` (N, S_over, D); a tile of the sum is (own, D).
    """
    own, over = axes

    def total(seen: Callable[[Window], Array]) -> Callable[[Window], Array]:
        return lambda w: left[w.head, w.at[own]][:, seen(w)] @ right[w.head][seen(w)]

    so_far = f"the sum of {words} over the {'keys' if over == 'k' else 'queries'} seen so far"
    return [
        Quantity(name, so_far, (own, "d"), total(lambda w: w.seen[over]), "step", (over,), factors),
        Quantity(name, so_far, (own, "d"), total(lambda w: w.before[over]), "step", (over,), factors),
        Quantity(
            f"share of {name}", f"this tile's {words}", (own, "d"), total(lambda w: in_tile(w, over)),
            "tile", (over,), factors,
        ),
    ]  # fmt: skip


def outputs_forward(x: Parts) -> tuple[Array, Array]:
    """O (N, S_q, D) and LSE (N, S_q)."""
    return x.p @ x.v, x.lse
