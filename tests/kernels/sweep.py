"""Attention's kernels on random problems, against fp64: shapes, dtypes, strides, masks, signs of alpha.

    $ python -m tests.kernels.sweep --count 500 --workers 15       # on a GPU
    $ python -m tests.kernels.sweep --count 500 --workers 15 --hopper   # lesson 13's kernels, on a Hopper GPU
    $ python -m tests.kernels.sweep --count 5                      # observed, on small problems

Each output's error is divided by that of plain torch at the same precision, which rounds P and dS as the
kernels do. The worst ratio is printed; beyond `ALLOWED` the program ends with status 1.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from flashlearn.kernels.flash_backward_dkv import dkv_kernel, dkv_kernel_causal
from flashlearn.kernels.flash_backward_dq import dq_kernel, dq_kernel_causal
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.kernels.fused_backward import fused_backward_atomic, fused_backward_rows
from flashlearn.kernels.gluon.fa3_backward import fa3_backward
from flashlearn.kernels.gluon.fa3_forward import fa3_forward
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.kernels.tuned_forward import tuned_forward
from flashlearn.machine import device

ALLOWED = 3.0
FLOOR = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""What rounding alone may cost, relative to the largest number that is right."""
LAYOUTS = ("heads first", "sequence first", "columns of a wider tensor", "every second row")


@dataclass(frozen=True)
class Draw:
    """One random problem; H_k divides H."""

    B: int
    H: int
    H_k: int
    S_q: int
    S_k: int
    D: int
    dtype: torch.dtype
    causal: bool
    alpha: float
    layouts: tuple[str, str, str, str]
    seed: int
    hopper: bool = False
    """Only the kernels that are written for Hopper GPUs compute it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds of kernels that compute it: only the tuned ones and Hopper's know grouped queries."""
        if self.hopper:
            return ("hopper",)
        grouped = self.H != self.H_k
        return ("tuned",) if grouped else ("plain", "one pass, keys", "one pass, queries", "tuned")


def draws(count: int, seed: int, longest: int) -> Iterator[Draw]:
    """Random problems, the same for the same arguments."""
    random_ = random.Random(seed)
    for number in range(count):
        H_k = random_.choice((1, 1, 2, 3))
        lengths = [min(longest, random_.choice((1, 7, 16, 31, 63, 64, 65, 100, 128, 129, 257, 512, 700)))] * 2
        if random_.random() < 0.6:
            lengths[1] = min(longest, random_.choice((1, 5, 17, 64, 96, 127, 130, 300, 640, 1000)))
        yield Draw(
            B=random_.choice((1, 2, 3)),
            H=H_k * random_.choice((1, 1, 2, 4)),
            H_k=H_k,
            S_q=lengths[0],
            S_k=lengths[1],
            D=random_.choice((8, 16, 20, 32, 40, 64, 64, 80, 96, 128, 128)),
            dtype=random_.choice((torch.float32, torch.float16, torch.bfloat16, torch.bfloat16)),
            causal=random_.random() < 0.5,
            alpha=random_.choice((1.0, 1.0, 0.3, 2.5, -1.0)),
            layouts=tuple(random_.choice(LAYOUTS) for _ in range(4)),
            seed=seed + number,
        )


def for_hopper(draw: Draw) -> Draw:
    """The same problem, of rows and a dtype that lesson 13's kernels take."""
    dtype = torch.float16 if draw.dtype == torch.float32 else draw.dtype
    return replace(draw, D=64 if draw.D <= 64 else 128, dtype=dtype, hopper=True)


def tensor(shape: tuple[int, int, int, int], layout: str, draw: Draw, seed: int) -> Tensor:
    """Normally distributed, [B, H, S, D], with the strides of the layout."""
    on = device.default()
    generator = torch.Generator(on).manual_seed(seed)
    B, H, S, D = shape
    made = {
        "heads first": (B, H, S, D),
        "sequence first": (B, S, H, D),
        "columns of a wider tensor": (B, H, S, 2 * D),
        "every second row": (B, H, 2 * S, D),
    }[layout]
    t = torch.randn(made, generator=generator, device=on).to(draw.dtype)
    if layout == "sequence first":
        return t.transpose(1, 2)
    if layout == "columns of a wider tensor":
        return t[..., :D]
    return t[:, :, ::2] if layout == "every second row" else t


def expected(q, k, v, do, draw: Draw, rounded: torch.dtype | None) -> list[Tensor]:
    """O, dQ, dK and dV in q's dtype; P and dS rounded to `rounded`, if any, before they are multiplied."""
    near = (lambda t: t.to(rounded).to(t.dtype)) if rounded else (lambda t: t)
    group = draw.H // draw.H_k
    k, v = (t.repeat_interleave(group, dim=1) for t in (k, v))
    alpha = draw.alpha / math.sqrt(draw.D)
    s = alpha * q @ k.mT
    if draw.causal:
        i, j = torch.meshgrid(*(torch.arange(n, device=q.device) for n in s.shape[-2:]), indexing="ij")
        s = s.masked_fill(j > i + draw.S_k - draw.S_q, -math.inf)
    lse = torch.logsumexp(s, dim=-1, keepdim=True)
    p = torch.exp(s - torch.where(lse == -math.inf, math.inf, lse))
    o = near(near(p) @ v)
    dp = do @ v.mT
    ds = near(p * (dp - (o * do).sum(-1, keepdim=True)))
    dk, dv = (t.unflatten(1, (draw.H_k, group)).sum(2) for t in (alpha * ds.mT @ q, near(p).mT @ do))
    return [o, alpha * ds @ k, dk, dv]


def found(name: str, q, k, v, do, draw: Draw) -> list[Tensor]:
    """What the kernels of this name compute."""
    alpha, causal = draw.alpha / math.sqrt(draw.D), draw.causal
    if name == "tuned":
        o, lse = tuned_forward(q, k, v, causal, alpha)
        return [o, *tuned_backward(q, k, v, o, do, lse, causal, alpha)]
    if name == "hopper":
        o, lse = fa3_forward(q, k, v, causal, alpha)
        return [o, *fa3_backward(q, k, v, o, do, lse, causal, alpha)]
    o, lse = (flash_forward_causal if causal else flash_forward)(q, k, v, alpha)
    if name == "one pass, keys":
        return [o, *fused_backward_atomic(q, k, v, o, do, lse, alpha, causal)]
    if name == "one pass, queries":
        return [o, *fused_backward_rows(q, k, v, o, do, lse, alpha, causal)]
    dq = (dq_kernel_causal if causal else dq_kernel)(q, k, v, o, do, lse, alpha)
    return [o, dq, *(dkv_kernel_causal if causal else dkv_kernel)(q, k, v, o, do, lse, alpha)]


def ratios(draw: Draw) -> dict[str, float]:
    """The worst ratio of each kind of kernels on one problem; infinite where something is not finite."""
    queries, keys = (draw.B, draw.H, draw.S_q, draw.D), (draw.B, draw.H_k, draw.S_k, draw.D)
    q, k, v, do = (
        tensor(shape, layout, draw, 4 * draw.seed + n)
        for n, (shape, layout) in enumerate(zip((queries, keys, keys, queries), draw.layouts, strict=True))
    )
    true = expected(*(t.double() for t in (q, k, v, do)), draw, None)
    twin = expected(*(t.float() for t in (q, k, v, do)), draw, draw.dtype)
    allowed = [
        (a.double() - b).abs().max().item() + FLOOR[draw.dtype] * b.abs().max().item() + least
        for a, b, least in zip(twin, true, _cancelled(q, k, v, do, draw), strict=True)
    ]
    worst = {}
    for name in draw.names:
        errors = [
            (a.double() - b).abs().max().item()
            for a, b in zip(found(name, q, k, v, do, draw), true, strict=True)
        ]
        each = [error / most for error, most in zip(errors, allowed, strict=True)]
        worst[name] = max(each) if all(map(math.isfinite, each)) else math.inf
    return worst


def _cancelled(q, k, v, do, draw: Draw) -> tuple[float, ...]:
    """What fp32 leaves of O, dQ, dK and dV where everything cancels, as dP - delta does for a single key."""
    most = {name: t.abs().max().item() for name, t in (("q", q), ("k", k), ("v", v), ("do", do))}
    of_ds = 1e-6 * abs(draw.alpha) * most["do"] * most["v"] * math.sqrt(draw.D)
    return 1e-30, of_ds * most["k"], of_ds * most["q"] * math.sqrt(draw.S_q), 1e-30


def _worst_of(some: list[Draw]) -> list[tuple[Draw, dict[str, float]]]:
    torch.backends.cuda.matmul.allow_tf32 = False
    return [(draw, ratios(draw)) for draw in some]


def main() -> int:
    """Sweep, and say what was worst."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--longest", type=int, default=1000 if device.has_gpu() else 40)
    parser.add_argument("--hopper", action="store_true", help="only lesson 13's kernels")
    given = parser.parse_args()
    all_ = list(draws(given.count, given.seed, given.longest))
    if given.hopper:
        all_ = [for_hopper(draw) for draw in all_]
    if not device.has_gpu():
        all_ = [replace(draw, B=1) for draw in all_]
    shares = [all_[n :: given.workers] for n in range(given.workers)]
    if given.workers > 1:
        with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
            results = [one for share in pool.map(_worst_of, shares, chunksize=1) for one in share]
    else:
        results = _worst_of(all_)
    names = {name for _, worst in results for name in worst}
    for name in sorted(names):
        own = [(worst[name], draw) for draw, worst in results if name in worst]
        ratio, draw = max(own, key=lambda pair: pair[0])
        print(f"{name}: {len(own)} problems, worst ratio to what is allowed once {ratio:.2f}, of {draw}")
    beyond = [draw for draw, worst in results if max(worst.values()) > ALLOWED]
    print(f"{len(results)} problems, {len(beyond)} beyond {ALLOWED}")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
