"""`dkv_kernel_causal`: dK and dV where later keys are hidden."""

from __future__ import annotations

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.lessons.lesson_08_dk_dv.dk_dv_alone import SIGNATURE, only_dk_dv
from flashlearn.lessons.lesson_08_dk_dv.faulty_kernels import kernel_mistakes
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import (
    REAL_SIZES,
    TILE_EDGES,
    TIMING,
    products_work,
    score_count,
)
from flashlearn.lessons.shared.attention_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.attention_mistakes.dkv import dkv
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.gradients import dkv_scan

formula = faulty_formula(dkv_scan, causal=True)

MISTAKES = {
    **dkv(formula),
    **causal_only(formula, keys=True),
    "loop starts one block late": Mistake(
        "The first tile of queries that sees a block's keys is never visited: the keys miss the nearest of "
        "their queries.",
        "Which query is the first one that sees the block's first key?",
        **formula("starts one block late"),
    ),
    "the first block that sees the keys is left out": Mistake(
        "A block of queries is left out whose first query does not see the program's keys, although later "
        "ones do.",
        "A block belongs to the sum as soon as its last query sees the first key; the mask hides the rest.",
        **formula("start rounded up"),
    ),
    "loop start without S_k − S_q": Mistake(
        "Tiles of queries before the program's own block of keys are left out, as if the diagonal began in "
        "the top-left corner. With more keys than queries, some of these queries see the keys.",
        "Which query is the first one that sees the block's first key?",
        **formula("starts at the top-left diagonal"),
    ),
    "loop start with the wrong sign": Mistake(
        "The tiles of queries begin at the first key plus S_k − S_q, where it should be minus.",
        "The first query that sees key j is i = j − (S_k − S_q).",
        **formula("bound negated"),
    ),
    **kernel_mistakes(causal=True),
}


def dkv_causal_work(inputs: Inputs) -> Work:
    """Four products, S, dV, dP and dK, over the visible pairs."""
    return products_work(inputs, 4, ("k", "v"), causal=True)


dkv_kernel_causal = Exercise(
    name="dkv_kernel_causal",
    lesson="08",
    kind=Kind.KERNEL,
    title="dK and dV where later keys are hidden",
    signature=SIGNATURE,
    outputs=("dk", "dv"),
    inputs=backward.causal_backward_inputs,
    cases=(*backward.MANY_QUERIES, *TILE_EDGES),
    judged=HowJudged(
        reference=only_dk_dv(reference.attention_gradients, causal=True),
        twins=backward.twins(only_dk_dv, causal=True),
        gradient=True,
        work=dkv_causal_work,
        grows=score_count,
        real_sizes=REAL_SIZES,
        many_heads=True,
        causal=True,
        review=backward.leaves_out_hidden_tiles,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.dv_weights, causal=True),
        quantities=quantities.backward("dk", "dv", causal=True),
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=backward.sdpa_backward_causal,
        peer_name="sdpa_backward_causal",
        case=TIMING,
    ),
    points=2,
    solution="flashlearn.kernels.flash_backward_dkv:dkv_kernel_causal",
)
