"""The quantities of attention in a few lines of torch, and where a tile lies in one of them.

Written apart from the package's own quantities, to check what is said with their help.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

TOLERANCE = 1e-4


@dataclass(frozen=True)
class Spot:
    """A tile of `name`: its head, where it begins on each axis, and whether it is transposed."""

    name: str
    head: int
    at: dict[str, int]
    turned: bool


class Reference:
    """Whole matrices by name, each (heads, …) with the names of its axes, of one draw of inputs."""

    def __init__(self, inputs: dict, causal: bool):
        q, k, v = (inputs[n].double().reshape(-1, *inputs[n].shape[-2:]) for n in ("q", "k", "v"))
        self.alpha, self.S_q, self.S_k = float(inputs["alpha"]), q.shape[1], k.shape[1]
        rows, columns = torch.arange(self.S_q)[:, None], torch.arange(self.S_k)[None, :]
        self.visible = columns <= rows + self.S_k - self.S_q if causal else columns >= 0
        self.visible = self.visible.expand(self.S_q, self.S_k)
        self.raw = q @ k.mT
        self.s = (self.alpha * self.raw).masked_fill(~self.visible, -math.inf)
        self.lse = torch.logsumexp(self.s, -1)
        self.p = torch.softmax(self.s, -1).nan_to_num(0.0)
        self.v = v
        whole = {"Q": (q, "qd"), "K": (k, "kd"), "V": (v, "kd"), "LSE": (self.lse, "q")}
        whole |= {"alpha Q Kᵀ": (self.s, "qk"), "Q Kᵀ": (self.raw, "qk"), "exp(S − LSE)": (self.p, "qk")}
        if "do" in inputs:
            do, o = (inputs[n].double().reshape(-1, *inputs[n].shape[-2:]) for n in ("do", "o"))
            delta, dp = (do * o).sum(-1), do @ v.mT
            ds = self.p * (dp - delta[..., None])
            whole |= {"dO": (do, "qd"), "O": (o, "qd"), "delta": (delta, "q"), "dO Vᵀ": (dp, "qk")}
            whole |= {"dP − delta": (dp - delta[..., None], "qk"), "P ∘ (dP − delta)": (ds, "qk")}
        self.whole = {name: (x.numpy(), axes) for name, (x, axes) in whole.items()}
        self._sums = list(self._running())
        if "do" in inputs:
            self._sums += list(self._gradients(ds, q, k, do))

    def _running(self) -> Iterator[tuple[str, np.ndarray, str]]:
        """m, l, P and acc over the first keys, and the factor for what was summed before."""
        ends = sorted({*range(0, self.S_k, 8), self.S_k})
        tops = {e: self.s[..., :e].amax(-1) if e else torch.full(self.lse.shape, -math.inf) for e in ends}
        for end in ends[1:]:
            e = (self.s[..., :end] - tops[end][..., None]).exp()
            yield "the maximum", tops[end].numpy(), "q"
            yield "the sum of exp(S − m)", e.sum(-1).numpy(), "q"
            yield "the sum of exp(S − m) V", (e @ self.v[:, :end]).numpy(), "qd"
            yield "the mean of V", (e @ self.v[:, :end] / e.sum(-1, keepdim=True)).numpy(), "qd"
            yield "exp(S − m)", (self.s - tops[end][..., None]).exp().numpy(), "qk"
            for start in (s for s in ends if s < end):
                old = (tops[start] - tops[end]).exp()
                share, before = e[..., start:], e[..., :start]
                yield "exp(m_old − m_new)", old.numpy(), "q"
                yield "this tile's sum of exp(S − m)", share.sum(-1).numpy(), "q"
                yield "the sum of exp(S − m)", before.sum(-1).numpy(), "q"
                yield "this tile's P V", (share @ self.v[:, start:end]).numpy(), "qd"
                yield "the sum of exp(S − m) V", (before @ self.v[:, :start]).numpy(), "qd"

    def _gradients(self, ds, q, k, do) -> Iterator[tuple[str, np.ndarray, str]]:
        """Sums of dQ over some keys, of dK and dV over some queries."""
        for name, left, right, axes, n in (
            ("dS K", ds, k, "qd", self.S_k),
            ("dSᵀ Q", ds.mT, q, "kd", self.S_q),
            ("Pᵀ dO", self.p.mT, do, "kd", self.S_q),
        ):
            ends = sorted({*range(0, n, 16), n})
            for a in ends:
                for b in (end for end in ends if end > a):
                    yield name, (left[..., a:b] @ right[:, a:b]).numpy(), axes

    def spots(self, array: np.ndarray, factors: tuple[float, ...] = (1.0,)) -> Iterator[Spot]:
        """Where an array is a tile of one of these, in every lane that exists."""
        array = np.squeeze(array).astype(np.float64)
        every = [(name, x, axes) for name, (x, axes) in self.whole.items()]
        for name, x, axes in (*every, *self._sums):
            for factor in factors:
                for turned, tile in enumerate((array, array.T) if array.ndim == 2 else (array,)):
                    for head, at in _found(tile, factor * x if factor != 1.0 else x, axes):
                        yield Spot(name, head, at, bool(turned))


def _found(tile: np.ndarray, whole: np.ndarray, axes: str) -> Iterator[tuple[int, dict[str, int]]]:
    """Heads and corners at which a tile equals a matrix, over what exists of it."""
    if tile.ndim != len(axes):
        return
    for head, x in enumerate(whole):
        starts = [range(0, n, 8) if axis != "d" else (0,) for axis, n in zip(axes, x.shape, strict=True)]
        grid = [(a,) for a in starts[0]] if len(axes) == 1 else [(a, b) for a in starts[0] for b in starts[1]]
        for corner in grid:
            part = x[tuple(slice(a, a + n) for a, n in zip(corner, tile.shape, strict=True))]
            got = tile[tuple(slice(0, n) for n in part.shape)]
            if part.size and _same(got, part):
                yield head, {axis: a for axis, a in zip(axes, corner, strict=True) if axis != "d"}


def _same(got: np.ndarray, right: np.ndarray) -> bool:
    """Equal numbers; −∞ is any score that hides, and where nothing is seen any number will do."""
    finite = np.isfinite(right)
    if not finite.any() or not np.isfinite(got[finite]).all():
        return False
    scale = max(np.abs(right[finite]).max(), 1e-30)
    if abs(got[finite].flat[0] - right[finite].flat[0]) > TOLERANCE * scale:
        return False
    hidden = right == -np.inf
    if right.ndim == 2 and not (got[hidden] <= -1e4).all():
        return False
    return bool(np.abs(got[finite] - right[finite]).max() <= TOLERANCE * scale)
