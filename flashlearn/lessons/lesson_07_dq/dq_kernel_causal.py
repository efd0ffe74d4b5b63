"""`dq_kernel_causal`: the same where later keys are hidden."""

from __future__ import annotations

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.lessons.lesson_07_dq.dq_alone import SIGNATURE, only_dq
from flashlearn.lessons.lesson_07_dq.faulty_kernels import kernel_mistakes
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
from flashlearn.lessons.shared.attention_mistakes.dq import dq
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.gradients import dq_scan

formula = faulty_formula(dq_scan, causal=True)

PADDING = ("loop over S_q", "the last, incomplete block of keys is left out", "padded keys get a probability")
MISTAKES = {  # a causal mask hides padded keys, and its loop ends elsewhere
    **{name: mistake for name, mistake in dq(formula).items() if name not in PADDING},
    **causal_only(formula, keys=False),
    "loop ends one block early": Mistake(
        "The last tile of keys that a block's queries see is never visited: they miss the nearest of their "
        "keys.",
        "Which key is the last one that the block's last query sees?",
        **formula("ends one block early"),
    ),
    "loop ends at the last key itself": Mistake(
        "The tile that begins with the last key that the block's queries see is left out, as if the loop "
        "ended at this key itself, and not after it.",
        "The tile that begins with the last key that is seen has to be visited, too.",
        **formula("ends at the last key"),
    ),
    "loop end without S_k − S_q": Mistake(
        "Tiles of keys beyond the program's own block of queries are left out, as if the diagonal began in "
        "the top-left corner. With more keys than queries, these queries see some of them.",
        "Which key is the last one that the block's last query sees?",
        **formula("ends at the top-left diagonal"),
    ),
    "loop end with the wrong sign": Mistake(
        "The tiles of keys end S_q − S_k after the end of the block; they should end S_k − S_q.",
        "The last key that query i sees is i + S_k − S_q.",
        **formula("bound negated"),
    ),
    "loop begins with the block's own number": Mistake(
        "The tiles of keys begin where the program's own block of queries does: the keys before it, which "
        "these queries see as well, are missing.",
        "Which key is the first one that query i sees?",
        **formula("starts at the own block"),
    ),
    **kernel_mistakes(causal=True),
}


def dq_causal_work(inputs: Inputs) -> Work:
    """Three products, S, dP and dQ, over the visible pairs."""
    return products_work(inputs, 3, ("q",), causal=True)


dq_kernel_causal = Exercise(
    name="dq_kernel_causal",
    lesson="07",
    kind=Kind.KERNEL,
    title="dQ where later keys are hidden",
    signature=SIGNATURE,
    outputs=("dq",),
    inputs=backward.causal_backward_inputs,
    cases=(*backward.MANY_KEYS, *TILE_EDGES),
    judged=HowJudged(
        reference=only_dq(reference.attention_gradients, causal=True),
        twins=backward.twins(only_dq, causal=True),
        gradient=True,
        work=dq_causal_work,
        grows=score_count,
        real_sizes=REAL_SIZES,
        many_heads=True,
        causal=True,
        review=backward.leaves_out_hidden_tiles,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.dq_weights, causal=True),
        quantities=quantities.backward("dq", causal=True),
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=backward.sdpa_backward_causal,
        peer_name="sdpa_backward_causal",
        case=TIMING,
    ),
    points=2,
    solution="flashlearn.kernels.flash_backward_dq:dq_kernel_causal",
)
