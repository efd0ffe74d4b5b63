"""`dkv_kernel`: dK and dV, one program per block of keys."""

from __future__ import annotations

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_08_dk_dv.dk_dv_alone import SIGNATURE, only_dk_dv
from flashlearn.lessons.lesson_08_dk_dv.faulty_kernels import kernel_mistakes
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import REAL_SIZES, TIMING, products_work, score_count
from flashlearn.lessons.shared.attention_mistakes.dkv import dkv
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.gradients import dkv_scan

MISTAKES = {**dkv(faulty_formula(dkv_scan, causal=False)), **kernel_mistakes(causal=False)}


def dkv_work(inputs: Inputs) -> Work:
    """Four products, S, dV, dP and dK, over all pairs."""
    return products_work(inputs, 4, ("k", "v"))


dkv_kernel = Exercise(
    name="dkv_kernel",
    lesson="08",
    kind=Kind.KERNEL,
    title="dK and dV, one program per block of keys",
    signature=SIGNATURE,
    outputs=("dk", "dv"),
    inputs=backward.backward_inputs,
    cases=backward.MANY_QUERIES,
    judged=HowJudged(
        reference=only_dk_dv(reference.attention_gradients, causal=False),
        twins=backward.twins(only_dk_dv, causal=False),
        gradient=True,
        work=dkv_work,
        grows=score_count,
        real_sizes=REAL_SIZES,
        many_heads=True,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.dv_weights),
        quantities=quantities.backward("dk", "dv"),
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=backward.sdpa_backward,
        peer_name="sdpa_backward",
        case=TIMING,
    ),
    points=3,
    solution="flashlearn.kernels.flash_backward_dkv:dkv_kernel",
)
