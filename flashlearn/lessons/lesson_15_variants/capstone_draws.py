"""Draws of the capstone: sequences, heads and any of its features, declared or at random.

>>> case = capstone_case([37, 5, 60], H=4, H_k=2, causal=True, window=20, cap=3.0, sinks=True)
>>> capstone_inputs(case, case.generator())       # q, k, v, do, slopes, logits, borders, causal, …
>>> hidden_draws(seed=5, count=3)                 # small ones; `board_draws(seed)` for a GPU
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence

import torch
from torch import Tensor

from flashlearn.exercise import Case, Inputs
from flashlearn.lessons.lesson_15_variants.varlen import ragged, varlen_inputs
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.report.units import plural

NO_SINK = -math.inf


def capstone_case(
    lengths_q: Sequence[int], lengths_k: Sequence[int] | None = None, D: int = 16, H: int = 2, H_k: int = 0,
    causal: bool = True, window: int = 0, cap: float = 0.0, p: float = 0.0, slopes: bool = False,
    sinks: bool = False, **more: object,
) -> Case:  # fmt: skip
    """A case of sequences with these features; H_k is H unless given, and a window needs `causal`."""
    H_k = H_k or H
    case = ragged(lengths_q, lengths_k, D, H, causal, **more)  # type: ignore[arg-type]
    features = [
        f"{plural(H_k, 'head')} of K" if H_k != H else "",
        f"window {window}" if window else "",
        f"cap {cap:g}" if cap else "",
        "slopes" if slopes else "",
        "sinks" if sinks else "",
        f"p {p:g}" if p else "",
    ]
    named = ", ".join([case.name, *filter(None, features)])
    sizes = {**case.sizes, "H_k": H_k, "window": window, "slopes": int(slopes), "sinks": int(sinks)}
    data = f"{case.data}; cap {cap:g}; p {p:g}"
    return dataclasses.replace(case, name=named, sizes=sizes, data=data)


def capstone_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """The arguments of `capstone` in its order; logits are −∞ and slopes 0 where the case has none."""
    sizes, (lengths, *features) = case.sizes, case.data.split("; ")
    given = varlen_inputs(dataclasses.replace(case, data=lengths), generator)
    cap, p = (float(feature.split(" ")[1]) for feature in features)
    H, H_k = sizes["H"], sizes["H_k"]
    slopes = 2.0 ** -(1 + torch.arange(H) % 8) * sizes["slopes"]
    logits = torch.randn(H, generator=generator) + 1
    if not sizes["sinks"]:
        logits = torch.full((H,), NO_SINK)
    few = {name: _heads(given[name], H_k) for name in "kv"}
    tensors = {"q": given["q"], **few, "do": given["do"], "slopes": slopes.float(), "logits": logits}
    cuts = {name: given[name] for name in ("cu_seqlens_q", "cu_seqlens_k")}
    scalars = {"causal": given["causal"], "window": sizes["window"], "cap": cap, "p": p}
    return {**tensors, **cuts, **scalars, "seed": 2000 + case.seed, "alpha": given["alpha"]}


def _heads(t: Tensor, H_k: int) -> Tensor:
    """The first H_k heads, laid out as the tensor is."""
    dense = t.is_contiguous()
    return t[:, :H_k].contiguous() if dense else t[:, :H_k]


FEATURES = (
    {"window": 1},
    {"cap": 1},
    {"slopes": 1},
    {"sinks": 1},
    {"p": 1},
    {"window": 1, "sinks": 1},
    {"cap": 1, "slopes": 1, "p": 1},
    {"window": 1, "cap": 1, "slopes": 1, "sinks": 1, "p": 1},
)


def hidden_draws(seed: int, count: int) -> tuple[Case, ...]:
    """Small cases that a seed makes: one to four sequences of up to 70, and some of the features."""
    chance = random.Random(seed)
    return tuple(_draw(chance, n, seed) for n in range(count))


def _draw(chance: random.Random, number: int, seed: int) -> Case:
    H_k, group = chance.choice((1, 2)), chance.choice((1, 2, 3))
    n, causal = chance.randint(1, 4), chance.random() < 0.7
    lengths_q = [chance.randint(1, 70) for _ in range(n)]
    lengths_k = [chance.randint(1, 70) for _ in range(n)] if chance.random() < 0.4 else None
    asked = chance.choice(FEATURES)
    return capstone_case(
        lengths_q, lengths_k, D=chance.choice((16, 24, 32, 64)), H=H_k * group, H_k=H_k, causal=causal,
        window=chance.randint(1, 50) if causal and "window" in asked else 0,
        cap=chance.choice((1.5, 4.0)) if "cap" in asked else 0.0,
        p=chance.choice((0.1, 0.5)) if "p" in asked else 0.0,
        slopes="slopes" in asked, sinks="sinks" in asked,
        dtype=chance.choice((torch.float32, FP16, BF16)), seed=100 * seed + number,
    )  # fmt: skip


def board_draws(seed: int, tokens: int = 8192) -> tuple[Case, ...]:
    """Six cases that a seed makes, for a GPU: about as many tokens each, in bf16."""
    chance = random.Random(seed)
    common = {"D": chance.choice((64, 128)), "dtype": BF16, "gpu": True}
    even, long = [tokens // 4] * 4, [tokens]
    skewed = [chance.randint(tokens // 128, tokens // 16) for _ in range(12)]
    skewed.append(chance.randint(tokens // 4, tokens // 2))
    window = chance.choice((tokens // 32, tokens // 8))
    asked = (
        (even, {"H": 16, "causal": False}),
        (even, {"H": 16, "H_k": 4}),
        (long, {"H": 8, "window": window, "sinks": True}),
        (long, {"H": 8, "H_k": 2, "cap": 30.0, "slopes": True}),
        (skewed, {"H": 16, "H_k": 4}),
        (skewed, {"H": 8, "p": 0.1, "sinks": True}),
    )
    return tuple(
        capstone_case(lengths, seed=seed + number, **common, **features)
        for number, (lengths, features) in enumerate(asked)
    )
