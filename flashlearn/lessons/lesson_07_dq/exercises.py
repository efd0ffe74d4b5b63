"""Lesson 07, dQ: kernels with the forward pass's parallel shape: all keys, a causal mask, and no delta."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.exercise import Case, Earlier, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_07_dq import mistakes, without_delta
from flashlearn.lessons.lesson_07_dq.quantities import without_delta as without_delta_quantities
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import REAL_SIZES, TIMING, attention_case, products_work
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

SIGNATURE = "(q, k, v, o, do, lse, alpha) -> dq"


def only_dq(gradients: backward.Gradients, causal: bool) -> Callable[..., Tensor]:
    """A reference or twin that returns dQ alone."""

    def dq(q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:
        return gradients(q, k, v, o, do, lse, alpha, causal)[0]

    return dq


def dq_work(inputs: Inputs) -> Work:
    """Three products, S, dP and dQ, over all pairs."""
    return products_work(inputs, 3, ("q",))


def dq_causal_work(inputs: Inputs) -> Work:
    """The same over the visible pairs."""
    return products_work(inputs, 3, ("q",), causal=True)


dq_kernel = Exercise(
    name="dq_kernel",
    lesson="07",
    kind=Kind.KERNEL,
    title="dQ, one program per block of queries",
    signature=SIGNATURE,
    outputs=("dq",),
    inputs=backward.backward_inputs,
    cases=backward.MANY_KEYS,
    judged=HowJudged(
        reference=only_dq(reference.attention_gradients, causal=False),
        twins=backward.twins(only_dq, causal=False),
        gradient=True,
        work=dq_work,
        real_sizes=REAL_SIZES,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.dq_weights),
        quantities=quantities.backward("dq"),
        mistakes=mistakes.DQ,
    ),
    timed=HowTimed(
        peer=backward.sdpa_backward,
        peer_name="sdpa_backward",
        case=TIMING,
    ),
    points=3,
    solution="flashlearn.kernels.flash_backward_dq:dq_kernel",
)

dq_kernel_causal = Exercise(
    name="dq_kernel_causal",
    lesson="07",
    kind=Kind.KERNEL,
    title="dQ where later keys are hidden",
    signature=SIGNATURE,
    outputs=("dq",),
    inputs=backward.causal_backward_inputs,
    cases=backward.MANY_KEYS,
    judged=HowJudged(
        reference=only_dq(reference.attention_gradients, causal=True),
        twins=backward.twins(only_dq, causal=True),
        gradient=True,
        work=dq_causal_work,
        real_sizes=REAL_SIZES,
        causal=True,
        review=backward.leaves_out_hidden_tiles,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.dq_weights, causal=True),
        quantities=quantities.backward("dq", causal=True),
        mistakes=mistakes.CAUSAL,
    ),
    timed=HowTimed(
        peer=backward.sdpa_backward_causal,
        peer_name="sdpa_backward_causal",
        case=TIMING,
    ),
    points=2,
    solution="flashlearn.kernels.flash_backward_dq:dq_kernel_causal",
)


# ---------------------------------------------------------------- dQ without delta

LIFTED = "one column of V is 64"
"""Of the cases of `dq_kernel`, the data that three sums in half precision cannot be right on."""


def inputs_without_delta(case: Case, generator: torch.Generator) -> Inputs:
    """What `dq_kernel` gets, without O: so there is nothing to take delta from."""
    given = backward.backward_inputs(case, generator)
    return {name: value for name, value in given.items() if name != "o"}


def without_delta_work(inputs: Inputs) -> Work:
    """Four products, S, dP, P dP K and P K, over all pairs."""
    return products_work(inputs, 4, ("q",))


def one_scan(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a kernel with one block of queries asks for its keys and values more than once."""
    case = attention_case(16, 512, 16, seed=61)
    seen = answer.run(inputs_without_delta(case, case.generator()), Observed()).completed().observation
    if seen.bytes_requested <= 1.5 * seen.bytes_unique:
        return ""
    return mistakes.SCANNED_AGAIN.format(requested=seen.bytes_requested, least=seen.bytes_unique)


dq_without_delta = Exercise(
    name="dq_without_delta",
    lesson="07",
    kind=Kind.KERNEL,
    title="dQ in one scan, without O and without delta",
    signature="(q, k, v, do, lse, alpha) -> dq",
    outputs=("dq",),
    inputs=inputs_without_delta,
    cases=tuple(case for case in backward.MANY_KEYS if case.data != LIFTED),
    judged=HowJudged(
        reference=without_delta.dq_in_torch,
        twins=(without_delta.in_one_scan,),
        gradient=True,
        work=without_delta_work,
        real_sizes=REAL_SIZES,
        review=one_scan,
    ),
    explained=HowExplained(
        mistakes=mistakes.WITHOUT_DELTA,
        quantities=without_delta_quantities,
    ),
    timed=HowTimed(
        peer=without_delta.dq_in_torch,
        peer_name="dq_in_torch",
        case=TIMING,
    ),
    points=2,
    solution="flashlearn.lessons.lesson_07_dq.without_delta:dq_without_delta",
)
