"""Lesson 06, FlashAttention forward: the whole kernel, the same under a causal mask, and both in one."""

from __future__ import annotations

import dataclasses
import functools

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from flashlearn.exercise import Case, Earlier, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_06_flash_forward import mistakes
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import (
    FP16,
    ON_A_GPU,
    REAL_SIZES,
    SHARED,
    TIMING,
    WIDE,
    attention_case,
    forward_inputs,
    products_work,
)
from flashlearn.lessons.shared.hidden_tiles import hidden_tiles
from flashlearn.lessons.shared.tiled_twins import ORDERS, forward_in_tiles
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

LAYOUTS = "three layouts"  # q contiguous, k as a projection leaves it, v with D and S exchanged in memory

FALLING = "scores falling by 120"  # those of the keys from 128 on: between two tiles of 16 to 128 keys

SINGLE = (  # a query per head; six heads, since the error of one number alone is luck
    attention_case(1, 1, 16, B=2, H=3, seed=2),
    attention_case(1, 37, 16, B=2, H=3, seed=6),
)
LARGE = (
    attention_case(37, 64, 16, magnitude=10.0, seed=20),
    attention_case(20, 37, 16, magnitude=30.0, seed=21),
    attention_case(32, 64, 32, dtype=FP16, data="V near 10⁴", seed=22),
)
BOTH = (
    *(case for case in SHARED if case.sizes["S_q"] > 1),
    *SINGLE,
    *LARGE,
    attention_case(4, 3, 2, seed=60),  # the running example's sizes: D below 16
    attention_case(20, 37, 16, B=2, H=3, data=LAYOUTS, seed=61),
    dataclasses.replace(
        attention_case(20, 37, 16, magnitude=10.0, data="negative alpha", seed=62),
        name="S 20 × 37, D 16, values ×10, negative alpha",
    ),
    attention_case(8, 200, 16, data=FALLING, seed=64),  # exp(120) is more than fp32 holds
    attention_case(2, 1030, 16, seed=65),  # more keys, and more queries, than anybody has in one block
    attention_case(270, 3, 16, seed=66),
    *WIDE,
)
LOW_ROWS = attention_case(20, 1, 16, magnitude=10.0, seed=63)  # their only score is far below zero
LOW_FIRST_ROW = attention_case(37, 37, 16, magnitude=10.0, seed=71)  # causal: the first query sees one key
FORWARD_CASES = (
    *BOTH,
    LOW_ROWS,
    *ON_A_GPU,
)
CAUSAL_CASES = (
    *BOTH,
    LOW_FIRST_ROW,
    *ON_A_GPU,
)


def inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q [B, H, S_q, D], k and v [B, H, S_k, D], alpha; in LAYOUTS each tensor has strides of its own kind.

    In FALLING the first of the D products is 60 for the first 128 keys and −60 for the rest.
    """
    given = forward_inputs(case, generator)
    if case.data == LAYOUTS:
        given["k"] = given["k"].transpose(1, 2).contiguous().transpose(1, 2)
        given["v"] = given["v"].mT.contiguous().mT
    if case.data == FALLING:
        step = torch.where(torch.arange(case.sizes["S_k"]) < 128, 60.0, -60.0)
        given["q"][..., 0], given["k"][..., 0] = 1.0, step / given["alpha"]
    return given


def work(given: Inputs, causal: bool = False) -> Work:
    """Two products over the visible pairs; Q, K, V read once, O and the fp32 LSE written once."""
    least = products_work(given, 2, ("q",), causal)
    q = given["q"]
    return Work(least.operations, least.bytes + 4.0 * q.shape[0] * q.shape[1] * q.shape[2])


causal_work = functools.partial(work, causal=True)


def leaves_out_hidden_tiles(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a causal kernel multiplies tiles in which no key is seen, else nothing."""
    case = attention_case(256, 256, 16, seed=65)
    return _about_hidden(hidden_tiles(answer, inputs(case, case.generator())))


def _about_hidden(count: int) -> str:
    if not count:
        return ""
    tiles = "a tile" if count == 1 else f"{count} tiles"
    return (
        f"The result is right, but at S 256 your kernel multiplies {tiles} of queries and keys in which no "
        "query sees a key. Let the loop end after the tile that holds the last key that the block's last "
        "query sees."
    )


def sdpa_flash(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> Tensor:
    """The peer of flash_forward: torch's own FlashAttention-2."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=alpha)


def sdpa_flash_causal(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> Tensor:
    """The peer of flash_forward_causal; torch aligns top-left, which is the same for S_q = S_k."""
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=alpha, is_causal=True)


def other_order(q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False) -> tuple[Tensor, Tensor]:
    """A twin whose scores are summed over D from the other end: fp32 sums depend on their order."""
    return reference.attention_forward(q.flip(-1), k.flip(-1), v, alpha, causal)


def other_order_in_tiles(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False
) -> tuple[Tensor, Tensor]:
    """The same of the twin that scales q first and sums in tiles."""
    return forward_in_tiles(q.flip(-1), k.flip(-1), v, alpha, causal)


TWINS = (
    reference.attention_forward_rounded,
    reference.attention_forward_base2,
    other_order,
    forward_in_tiles,
    other_order_in_tiles,
    *ORDERS,
)

flash_forward = Exercise(
    name="flash_forward",
    lesson="06",
    kind=Kind.KERNEL,
    title="FlashAttention's forward pass: O and LSE in one scan over the keys",
    signature="(q, k, v, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=inputs,
    cases=FORWARD_CASES,
    judged=HowJudged(
        reference=reference.attention_forward,
        twins=TWINS,
        output_dtypes={"lse": torch.float32},
        work=work,
        real_sizes=REAL_SIZES,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.forward_weights),
        quantities=quantities.attention_forward,
        mistakes=mistakes.FORWARD,
    ),
    timed=HowTimed(
        peer=sdpa_flash,
        peer_name="sdpa_flash",
        case=TIMING,
    ),
    points=4,
    solution="flashlearn.kernels.flash_forward:flash_forward",
)

flash_forward_causal = Exercise(
    name="flash_forward_causal",
    lesson="06",
    kind=Kind.KERNEL,
    title="The same under a causal mask, aligned bottom-right",
    signature="(q, k, v, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=inputs,
    cases=CAUSAL_CASES,
    judged=HowJudged(
        reference=functools.partial(reference.attention_forward, causal=True),
        twins=tuple(functools.partial(twin, causal=True) for twin in TWINS),
        output_dtypes={"lse": torch.float32},
        work=causal_work,
        real_sizes=REAL_SIZES,
        causal=True,
        review=leaves_out_hidden_tiles,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.forward_weights, causal=True),
        quantities=quantities.causal_forward,
        mistakes=mistakes.CAUSAL,
    ),
    timed=HowTimed(
        peer=sdpa_flash_causal,
        peer_name="sdpa_flash_causal",
        case=TIMING,
    ),
    points=3,
    solution="flashlearn.kernels.flash_forward:flash_forward_causal",
)


# ---------------------------------------------------------------- one kernel for both


def _flagged(case: Case, causal: bool) -> Case:
    """The case with a flag among its sizes, and in its name."""
    name = f"{case.name}, {'causal' if causal else 'all keys'}"
    return dataclasses.replace(case, name=name, sizes={**case.sizes, "causal": int(causal)})


LONG = 1000  # keys or queries: what both kernels have passed at this length need not be asked again
EITHER_CASES = (
    *(
        _flagged(case, number % 2 == 1)
        for number, case in enumerate(
            case
            for case in (*BOTH, *ON_A_GPU)
            if case.gpu or max(case.sizes["S_q"], case.sizes["S_k"]) < LONG
        )
    ),
    _flagged(LOW_ROWS, False),
    _flagged(LOW_FIRST_ROW, True),
)
"""Those that both kernels met, without the long ones, every second one causal; and the low rows of each."""


def either_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v and alpha as before, and the flag."""
    return {**inputs(case, generator), "causal": bool(case.sizes["causal"])}


def either_work(given: Inputs) -> Work:
    """The work over the pairs that the flag leaves."""
    return work(given, given["causal"])


def either_quantities(given: Inputs) -> quantities.Quantities:
    """What a right kernel's tiles hold, with the mask or without it."""
    rest = {name: value for name, value in given.items() if name != "causal"}
    return (quantities.causal_forward if given["causal"] else quantities.attention_forward)(rest)


def sdpa_either(q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool) -> Tensor:
    """torch's own FlashAttention-2, with its flag."""
    return (sdpa_flash_causal if causal else sdpa_flash)(q, k, v, alpha)


def one_kernel(answer: Answer, earlier: Earlier) -> str:
    """A sentence if the flag chooses between two kernels, or hidden tiles are multiplied."""
    case = attention_case(20, 37, 16, seed=67)
    used = []
    for causal in (False, True):
        given = {**inputs(case, case.generator()), "causal": causal}
        seen = answer.run(given, Observed()).completed().observation
        used.append({launch.name for launch in seen.launches})
    if used[0] != used[1]:
        return mistakes.TWO_KERNELS.format(kernels=" and ".join(sorted(used[0] | used[1])))
    case = attention_case(256, 256, 16, seed=65)
    return _about_hidden(hidden_tiles(answer, {**inputs(case, case.generator()), "causal": True}))


flash_forward_either = Exercise(
    name="flash_forward_either",
    lesson="06",
    kind=Kind.KERNEL,
    title="One kernel with and without a causal mask",
    signature="(q, k, v, alpha, causal) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=either_inputs,
    cases=EITHER_CASES,
    judged=HowJudged(
        reference=reference.attention_forward,
        twins=TWINS,
        output_dtypes={"lse": torch.float32},
        work=either_work,
        review=one_kernel,
    ),
    explained=HowExplained(
        quantities=either_quantities,
        weights=readouts.readout(readouts.forward_weights),
        mistakes=mistakes.EITHER,
    ),
    timed=HowTimed(
        peer=sdpa_either,
        peer_name="sdpa_either",
        case=_flagged(TIMING, True),
    ),
    points=1,
    solution="flashlearn.lessons.lesson_06_flash_forward.either:flash_forward_either",
)
