"""`flashlearn.attention` on random problems against fp64: every feature, and every pair of features.

    $ flashlearn bench --attention-sweep 500            # on a GPU

The error of O and of each gradient is divided by what torch at the same precision makes, which rounds P and
dS as the kernels do, with what fp32 leaves where everything cancels. Beyond `ALLOWED` a problem is wrong.
Problems with the same kernels go to the same process, since compiling takes longest.
"""

from __future__ import annotations

import itertools
import math
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from flashlearn.kernels.model_attention.attention import attention
from flashlearn.kernels.model_attention.backward import variant_backward
from flashlearn.kernels.model_attention.dense import dense_backward, dense_forward
from flashlearn.kernels.model_attention.forward import Extras, variant_forward
from flashlearn.kernels.model_attention.options import STEPS, Options

__all__ = ["ALLOWED", "FEATURES", "Draw", "draws", "ratio", "sweep"]

FEATURES = (
    "grouped", "causal", "left window", "window", "softcap", "ALiBi", "packed", "dropout", "sinks",
)  # fmt: skip
EXCLUSIVE = ({"left window", "window"},)
ALLOWED = 3.0
FLOOR = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""What rounding alone may cost, relative to the largest number that is right."""
ROWS = ((64, torch.bfloat16), (128, torch.bfloat16), (128, torch.float16), (40, torch.float16),
        (32, torch.float32))  # fmt: skip
"""D and dtype: few, since each pair is compiled for."""
KINDS = 2
"""Of `ROWS` for each pair of features."""


@dataclass(frozen=True)
class Draw:
    """One random problem; lengths are of its B sequences, which are packed or all the same."""

    features: frozenset[str]
    H: int
    H_k: int
    lengths_q: tuple[int, ...]
    lengths_k: tuple[int, ...]
    D: int
    dtype: torch.dtype
    alpha: float
    band: tuple[int | None, int | None]
    seed: int

    @property
    def kernels(self) -> tuple:
        """What decides which kernels are compiled."""
        return tuple(sorted(self.features - {"grouped"})), self.D, str(self.dtype), self.alpha < 0


def pairs() -> list[frozenset[str]]:
    """Nothing, each feature, and every pair of them."""
    some = [frozenset(c) for n in (0, 1, 2) for c in itertools.combinations(FEATURES, n)]
    return [one for one in some if one not in EXCLUSIVE]


def draws(count: int, seed: int = 0, longest: int = 700) -> Iterator[Draw]:
    """Random problems, the same for the same arguments."""
    random_ = random.Random(seed)
    wanted = pairs()
    for number in range(count):
        turn, which = divmod(number, len(wanted))
        features = wanted[which]
        D, dtype = ROWS[(KINDS * which + turn % KINDS + which // 5) % len(ROWS)]
        H_k = random_.choice((1, 2))
        B = random_.choice((1, 2, 3))
        lengths_q, lengths_k = _lengths(random_, "packed" in features, B, longest)
        left = random_.choice((0, 5, 31, 64, 100, 300))
        yield Draw(
            features=features,
            H=H_k * (random_.choice((2, 4)) if "grouped" in features else 1),
            H_k=H_k,
            lengths_q=lengths_q,
            lengths_k=lengths_k,
            D=D,
            dtype=dtype,
            alpha=random_.choice((1.0, 2.5)) * (-1 if number % 11 == 10 and len(features) < 2 else 1),
            band=_band(features, left, random_.choice((0, 3, 40, 129))),
            seed=seed + number,
        )


def _lengths(random_: random.Random, packed: bool, B: int, longest: int) -> tuple[tuple[int, ...], ...]:
    some = (1, 7, 16, 31, 63, 64, 65, 100, 128, 129, 257, 512, longest)
    choose: Callable[[], int] = lambda: min(longest, random_.choice(some))  # noqa: E731
    if packed:
        B += 2
        lengths_q = (*(random_.choice((0, choose(), choose())) for _ in range(B - 1)), choose())
        equal = random_.random() < 0.5
        return lengths_q, lengths_q if equal else (*(choose() for _ in range(B - 1)), choose())
    S_q = choose()
    return (S_q,) * B, (S_q if random_.random() < 0.4 else choose(),) * B


def _band(features: frozenset[str], left: int, right: int) -> tuple[int | None, int | None]:
    on_left = left if {"left window", "window"} & features else None
    on_right = 0 if "causal" in features else right if "window" in features else None
    return on_left, on_right


@dataclass(frozen=True)
class Given:
    """A draw's tensors; q, k, v and do as `variant_forward` takes them."""

    q: Tensor
    k: Tensor
    v: Tensor
    do: Tensor
    options: Options
    extras: Extras


def given(draw: Draw, device: str) -> Given:
    """Normally distributed tensors for the draw, and its options."""
    generator = torch.Generator(device).manual_seed(draw.seed)
    packed = "packed" in draw.features

    def normal(H: int, lengths: tuple[int, ...]) -> Tensor:
        if packed:
            made = torch.randn(sum(lengths), H, draw.D, generator=generator, device=device)
            return made.to(draw.dtype).transpose(0, 1)[None]
        made = torch.randn(len(lengths), H, lengths[0], draw.D, generator=generator, device=device)
        return made.to(draw.dtype)

    def bounds(lengths: tuple[int, ...]) -> Tensor | None:
        ends = [0, *itertools.accumulate(lengths)]
        return torch.tensor(ends, dtype=torch.int32, device=device) if packed else None

    q, do = normal(draw.H, draw.lengths_q), normal(draw.H, draw.lengths_q)
    k, v = normal(draw.H_k, draw.lengths_k), normal(draw.H_k, draw.lengths_k)
    has = draw.features.__contains__
    uniform = torch.rand(len(draw.lengths_q), draw.H, generator=generator, device=device)
    extras = Extras(
        slopes=uniform / 4 if has("ALiBi") else None,
        sinks=torch.randn(draw.H, generator=generator, device=device) if has("sinks") else None,
        cu_q=bounds(draw.lengths_q),
        cu_k=bounds(draw.lengths_k),
        seed=torch.full((1,), 3 * 2**40 + draw.seed, device=device) if has("dropout") else None,
    )
    threshold = round(0.2 * STEPS) if has("dropout") else 0
    cap = 2.0 if has("softcap") else None
    return Given(q, k, v, do, Options(draw.alpha * draw.D**-0.5, *draw.band, cap, threshold), extras)


def by_kernels(one: Given) -> list[Tensor]:
    """O, dQ, dK, dV and perhaps dsinks of the variants' kernels, whatever the features."""
    o, lse = variant_forward(one.q, one.k, one.v, one.options, one.extras)
    found = variant_backward(one.q, one.k, one.v, o, one.do, lse, one.options, one.extras)
    return [o, *(t for t in found if t is not None)]


def by_attention(one: Given) -> list[Tensor]:
    """The same through `flashlearn.attention` and autograd."""
    packed = one.extras.cu_q is not None
    form: Callable[[Tensor], Tensor] = (lambda t: t[0].transpose(0, 1)) if packed else (lambda t: t)
    back: Callable[[Tensor], Tensor] = (lambda t: t.transpose(0, 1)[None]) if packed else (lambda t: t)
    leaves = [form(t).detach().requires_grad_() for t in (one.q, one.k, one.v)]
    options, extras = one.options, one.extras
    sinks = None if extras.sinks is None else extras.sinks.detach().requires_grad_()
    o = attention(
        *leaves, alpha=options.alpha, window=(options.left, options.right), softcap=options.softcap,
        alibi=extras.slopes, sinks=sinks, cu_seqlens_q=extras.cu_q, cu_seqlens_k=extras.cu_k,
        dropout_p=options.threshold / STEPS, seed=extras.seed,
    )  # fmt: skip
    wanted = leaves if sinks is None else [*leaves, sinks]
    found = torch.autograd.grad(o, wanted, form(one.do))
    return [back(o.detach()), *map(back, found[:3]), *found[3:]]


def ratio(draw: Draw, device: str, compute: Callable[[Given], list[Tensor]]) -> float:
    """The worst ratio of an error to what is allowed once; infinite where something is not finite."""
    one = given(draw, device)
    true = _dense(one, torch.float64, None)
    twin = _dense(one, torch.float32, draw.dtype)
    worst = 0.0
    found = compute(one)
    for name, a, b, c in zip(("o", "dq", "dk", "dv", "dsinks"), found, twin, true, strict=False):
        if not c.numel():
            continue
        if not torch.isfinite(a).all():
            return math.inf
        floor = FLOOR[torch.float32 if name == "dsinks" else draw.dtype] * c.abs().max().item()
        allowed = (b.double() - c).abs().max().item() + floor + _cancelled(name, one, draw)
        worst = max(worst, (a.double() - c).abs().max().item() / allowed)
    return worst


def _dense(one: Given, dtype: torch.dtype, rounded: torch.dtype | None) -> list[Tensor]:
    q, k, v, do = (t.to(dtype) for t in (one.q, one.k, one.v, one.do))
    o, lse = dense_forward(q, k, v, one.options, one.extras, rounded)
    o = o if rounded is None else o.to(rounded).to(dtype)
    found = dense_backward(q, k, v, o, do, lse, one.options, one.extras, rounded)
    return [o, *(t for t in found if t is not None)]


def _cancelled(name: str, one: Given, draw: Draw) -> float:
    """What rounding leaves of a gradient where everything cancels, as dP − delta does for a single key.

    Delta is of O as it was rounded; O of a single key is its V, unless dropout or a sink scales it.
    """
    if name in ("o", "dv"):
        return 1e-30
    most = {n: t.abs().max().item() for n, t in vars(one).items() if isinstance(t, Tensor) and t.numel()}
    of_o = 1e-6 * most["v"]
    if name == "dsinks" or (max(draw.lengths_k) == 1 and {"dropout", "sinks"} & draw.features):
        of_o += FLOOR[draw.dtype] * most["v"]
    of_ds = of_o * most["do"] * math.sqrt(draw.D)
    if name == "dsinks":
        return math.sqrt(sum(draw.lengths_q)) * of_ds
    of_dz = of_ds * abs(one.options.alpha)
    return of_dz * (most["k"] if name == "dq" else most["q"] * math.sqrt(max(draw.lengths_q)))


def sweep(count: int, seed: int = 0, workers: int | None = None, say: Callable[[str], Any] = print) -> int:
    """Sweep on the GPU, and say what was worst; returns how many problems are beyond `ALLOWED`."""
    some = sorted(draws(count, seed), key=lambda draw: draw.kernels)
    groups = [list(group) for _, group in itertools.groupby(some, key=lambda draw: draw.kernels)]
    most = workers or max(1, min(15, (os.cpu_count() or 1) - 1))
    with multiprocessing.get_context("spawn").Pool(most) as pool:
        found = [one for part in pool.imap_unordered(_ratios, groups, chunksize=1) for one in part]
    say(f"{len(found)} problems, {len(groups)} sets of kernels, {len(pairs())} sets of features")
    for feature in FEATURES:
        own = [(ratio_, draw) for draw, ratio_ in found if feature in draw.features]
        if own:
            worst, draw = max(own, key=lambda pair: pair[0])
            say(f"{feature}: {len(own)} problems, worst ratio to what is allowed once {worst:.2f}")
    beyond = [(draw, ratio_) for draw, ratio_ in found if not ratio_ <= ALLOWED]
    for draw, ratio_ in beyond:
        say(f"beyond {ALLOWED}: {ratio_:.2f}, {draw}")
    say(f"{len(beyond)} problems beyond {ALLOWED}")
    return len(beyond)


def _ratios(some: Sequence[Draw]) -> list[tuple[Draw, float]]:
    """In a worker: one problem after another with the same kernels."""
    torch.backends.cuda.matmul.allow_tf32 = False
    found = []
    for draw in some:
        try:
            found.append((draw, ratio(draw, "cuda", by_attention)))
        except Exception as error:  # one that raises is wrong, and the others are still looked at
            print(f"{type(error).__name__}: {str(error)[:300]}, {draw}", flush=True)
            found.append((draw, math.inf))
    return found
