"""`flash_forward_either`: one kernel with and without a causal mask."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.exercise import (
    Case,
    Earlier,
    Exercise,
    HowExplained,
    HowJudged,
    HowTimed,
    Inputs,
    Kind,
    Mistake,
    Work,
)
from flashlearn.lessons.lesson_06_flash_forward.forward_cases import (
    BOTH,
    LOW_FIRST_ROW,
    LOW_ROWS,
    SAME_PRECISION,
    forward_work,
    head_inputs,
    hidden_tiles_sentence,
    sdpa_flash,
    sdpa_flash_causal,
)
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import (
    ON_A_GPU,
    REAL_SIZES,
    TILE_EDGES,
    TIMING,
    attention_case,
    score_count,
)
from flashlearn.lessons.shared.attention_mistakes.causal_forward import causal_forward
from flashlearn.lessons.shared.attention_mistakes.forward import forward
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.forward import scan
from flashlearn.lessons.shared.hidden_tiles import hidden_tiles
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

TWO_KERNELS = (
    "The numbers are right, but they come from two kernels: {kernels}. Write one kernel, with a "
    "flag that says at compile time where the loop ends and what is masked."
)
"""What `one_kernel` says."""


def _ignoring_the_flag(causal: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    """The right forward pass with, or without, a causal mask: the flag is ignored."""

    def attention(q: Tensor, k: Tensor, v: Tensor, alpha: float, **flag: bool) -> tuple[Tensor, Tensor]:
        return scan(q, k, v, alpha, causal=causal)

    return attention


formula = faulty_formula(scan)
MISTAKES = {
    name: mistake
    for name, mistake in causal_forward(formula).items()
    if name not in forward(formula)  # what has passed twice is not asked again
    and name != "no causal mask"  # that is the flag that is ignored
} | {
    "padded keys are not masked": forward(formula)[
        "padded keys are not masked"
    ],  # the flag may switch it off as well
    "loop over S_q": forward(formula)["loop over S_q"],  # which the mask makes natural
    "no mask, whatever the flag says": Mistake(
        "Every query sees all keys, also where causal is True.",
        "Where does `causal` decide whether later keys are hidden?",
        wrong=_ignoring_the_flag(False),
    ),
    "a mask, whatever the flag says": Mistake(
        "Later keys are hidden also where causal is False.",
        "Where does `causal` decide whether later keys are hidden?",
        wrong=_ignoring_the_flag(True),
    ),
}


def flagged(case: Case, causal: bool) -> Case:
    """The case with a flag among its sizes, and in its name."""
    name = f"{case.name}, {'causal' if causal else 'all keys'}"
    return dataclasses.replace(case, name=name, sizes={**case.sizes, "causal": int(causal)})


LONG = 1000  # keys or queries: what both kernels have passed at this length need not be asked again
CASES = (
    *(
        flagged(case, number % 2 == 1)
        for number, case in enumerate(
            case
            for case in (*BOTH, *ON_A_GPU)
            if case.gpu or max(case.sizes["S_q"], case.sizes["S_k"]) < LONG
        )
    ),
    flagged(LOW_ROWS, False),
    *(flagged(case, True) for case in (LOW_FIRST_ROW, *TILE_EDGES)),
)
"""The cases of both kernels without the long ones, every second one causal, and what only one of them has."""


def either_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v and alpha as before, and the flag."""
    return {**head_inputs(case, generator), "causal": bool(case.sizes["causal"])}


def either_work(given: Inputs) -> Work:
    """The work over the pairs that the flag leaves."""
    return forward_work(given, given["causal"])


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
        given = {**head_inputs(case, case.generator()), "causal": causal}
        seen = answer.run(given, Observed()).completed().observation
        used.append({launch.name for launch in seen.launches})
    if used[0] != used[1]:
        return TWO_KERNELS.format(kernels=" and ".join(sorted(used[0] | used[1])))
    case = attention_case(256, 256, 16, seed=65)
    return hidden_tiles_sentence(
        hidden_tiles(answer, {**head_inputs(case, case.generator()), "causal": True})
    )


flash_forward_either = Exercise(
    name="flash_forward_either",
    lesson="06",
    kind=Kind.KERNEL,
    title="One kernel with and without a causal mask",
    signature="(q, k, v, alpha, causal) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=either_inputs,
    cases=CASES,
    judged=HowJudged(
        reference=reference.attention_forward,
        twins=SAME_PRECISION,
        output_dtypes={"lse": torch.float32},
        work=either_work,
        grows=score_count,
        real_sizes=REAL_SIZES,
        many_heads=True,
        review=one_kernel,
    ),
    explained=HowExplained(
        quantities=either_quantities,
        weights=readouts.readout(readouts.forward_weights),
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=sdpa_either,
        peer_name="sdpa_either",
        case=flagged(TIMING, True),
    ),
    points=1,
    solution="flashlearn.lessons.lesson_06_flash_forward.either:flash_forward_either",
)
