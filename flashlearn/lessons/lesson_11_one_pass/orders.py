"""What no single run of a one-pass kernel shows: whose sums depend on the order of the programs, and S twice.

The observed interpreter shuffles the programs of a launch by a seed. Numbers that several programs add to
memory with atomics come out a little different under another seed, and what one program owns does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from flashlearn.exercise import Earlier, Inputs
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared.attention_cases import attention_case
from flashlearn.lessons.shared.hidden_tiles import hidden_tiles, products_per_pair
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

OUTPUTS = ("dq", "dk", "dv")
SEEDS = (1, 2, 3, 4)
BOTH_LONG, MANY_KEYS, MANY_QUERIES = (160, 160), (16, 300), (300, 16)
"""(S_q, S_k): several blocks along both, or along one, whatever the size of a block up to 128."""
VERY_MANY_KEYS, VERY_MANY_QUERIES = (32, 576), (576, 32)
"""Three programs or more add to the same place where a few places are shared in turns."""


def draw(S_q: int, S_k: int, causal: bool = False) -> Inputs:
    """Arguments of a one-pass launcher: one head, D 16, fp32."""
    case = attention_case(S_q, S_k, 16, seed=61)
    return {**backward.backward_inputs(case, case.generator(), causal), "causal": causal}


def cancelling(S_q: int, S_k: int) -> Inputs:
    """Arguments whose longer sum runs over huge numbers that cancel, and over small ones that remain.

    Q, LSE and O are 0, so that P is 1 and delta 0, and all others are small integers, a third of them times
    2⁶⁰ and a third times −2⁶⁰: every product is exact, and what is left of a sum depends on its order alone,
    in fp64 as well. With many keys that is dQ = dP K, with many queries dV = Pᵀ dO.
    """
    generator = torch.Generator().manual_seed(62)
    q, k, v, do = (
        torch.randint(-2, 3, (1, 1, S, 16), generator=generator).float() for S in (S_q, S_k, S_k, S_q)
    )
    long, third = (k, S_k // 3) if S_k > S_q else (do, S_q // 3)
    long[:, :, -third:] = -long[:, :, :third]
    if S_k > S_q:
        v[:, :, -third:] = v[:, :, :third]
    long[:, :, :third] *= 2.0**60
    long[:, :, -third:] *= 2.0**60
    given = {"q": torch.zeros_like(q), "k": k, "v": v, "o": torch.zeros_like(q), "do": do}
    return {**given, "lse": torch.zeros(1, 1, S_q), "alpha": 1.0, "causal": False}


def changing(answer: Answer, inputs: Inputs, seeds: Sequence[int] = SEEDS) -> dict[str, float]:
    """By output, how far its numbers move when the programs run in other orders; nothing if no bit does."""
    runs = [answer.run(inputs, Observed(seed=seed)).completed().values for seed in seeds]
    moved = {}
    for name, *values in zip(OUTPUTS, *runs, strict=True):
        if not all(torch.equal(values[0], other) for other in values[1:]):
            moved[name] = max(float((values[0] - other).abs().max()) for other in values[1:])
    return moved


def _scans_twice(answer: Answer) -> str:
    if products_per_pair(answer, draw(64, 64)).min() < 2:
        return ""
    return (
        "The result is right, but S is computed twice: every query was multiplied by every key in two "
        "products. In one pass each tile of S is computed once, and gives its share of dQ, of dK and of dV."
    )


def _wasteful(answer: Answer) -> str:
    """A sentence if tiles are computed twice, or hidden ones at all; else nothing."""
    return _scans_twice(answer) or backward.hidden_tiles_sentence(
        hidden_tiles(answer, draw(256, 256, causal=True))
    )


def owns_keys(answer: Answer, earlier: Earlier) -> str:
    """A sentence if each tile is computed twice, or if programs own queries; else nothing."""
    moved = changing(answer, draw(*BOTH_LONG))
    if moved and "dq" not in moved:
        return (
            "The result is right, but it is dK and dV that change with the order of the programs, and dQ "
            "that does not: here a program owns queries. Do it the other way round: a program owns keys and "
            "finishes their dK and dV, and dQ is what all programs add to."
        )
    return _wasteful(answer)


def owns_queries(answer: Answer, earlier: Earlier) -> str:
    """A sentence if each tile is computed twice, or if programs own keys; else nothing."""
    moved = changing(answer, draw(*BOTH_LONG))
    if set(moved) == {"dq"}:
        return (
            "The result is right, but it is dQ that changes with the order of the programs, and dK and dV "
            "that do not: here a program owns keys. Do it the other way round: a program owns queries and "
            "finishes their dQ, and dK and dV are what all programs add to."
        )
    return _wasteful(answer)


def repeats(answer: Answer, earlier: Earlier) -> str:
    """A sentence if the programs' order changes a bit, or each tile is computed twice; else nothing."""
    for sizes in (MANY_KEYS, MANY_QUERIES):
        moved = changing(answer, cancelling(*sizes))
        if moved:
            return _unsteady(moved, sizes, " and numbers that cancel")
    for sizes in (VERY_MANY_KEYS, VERY_MANY_QUERIES):
        moved = changing(answer, draw(*sizes, causal=True))
        if moved:
            return _unsteady(moved, sizes, ", causal")
    return _wasteful(answer)


def _unsteady(moved: dict[str, float], sizes: tuple[int, int], what: str) -> str:
    names = " and ".join(moved)
    return (
        f"The result is right, but not the same every time: with S_q {sizes[0]}, S_k {sizes[1]}{what}, "
        f"{names} {'changes' if len(moved) == 1 else 'change'} by up to "
        f"{max(moved.values()):.0e} when the programs run in another order. Where several programs have a "
        "share of one sum, let each store its own, and add the shares in a fixed order."
    )
