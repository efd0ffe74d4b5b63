"""`dq_kernel`: dQ, one program per block of queries, all keys scanned."""

from __future__ import annotations

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_07_dq.dq_alone import SIGNATURE, only_dq
from flashlearn.lessons.lesson_07_dq.faulty_kernels import kernel_mistakes
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import REAL_SIZES, TIMING, products_work, score_count
from flashlearn.lessons.shared.attention_mistakes.dq import dq
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.gradients import dq_scan

MISTAKES = {**dq(faulty_formula(dq_scan, causal=False)), **kernel_mistakes(causal=False)}


def dq_work(inputs: Inputs) -> Work:
    """Three products, S, dP and dQ, over all pairs."""
    return products_work(inputs, 3, ("q",))


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
        grows=score_count,
        real_sizes=REAL_SIZES,
        many_heads=True,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.dq_weights),
        quantities=quantities.backward("dq"),
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=backward.sdpa_backward,
        peer_name="sdpa_backward",
        case=TIMING,
    ),
    points=3,
    solution="flashlearn.kernels.flash_backward_dq:dq_kernel",
)
