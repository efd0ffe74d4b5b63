"""`determinism`: one pass that gives the same bits every time."""

from __future__ import annotations

from dataclasses import replace

from flashlearn.exercise import Exercise, HowExplained, Kind, Mistake
from flashlearn.lessons.lesson_11_one_pass import orders
from flashlearn.lessons.lesson_11_one_pass.faulty_kernels import faulty
from flashlearn.lessons.lesson_11_one_pass.one_pass_cases import (
    COMMON,
    MANY_KEYS,
    OUTPUTS,
    SEVERAL_BLOCKS,
    SIGNATURE,
    TIMED,
    judged,
    one_pass_inputs,
    one_pass_quantities,
    weight_readout,
)
from flashlearn.lessons.lesson_11_one_pass.one_pass_mistakes import (
    KEYS_CATALOGUE,
    key_formula,
    select,
)
from flashlearn.lessons.shared import readouts
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula
from flashlearn.outcome import Status


def parts_mistakes(formula: FaultyFormula) -> dict[str, Mistake]:
    """What goes wrong with shares in separate memory, and with their sum."""
    return {
        "one part for all": Mistake(
            "Programs of one head store their shares of dQ in the same place and overwrite each other's.",
            "Each block of keys of each head and batch entry needs a place of its own for its share.",
            launcher=faulty("determinism", "one part for all"),
            status=Status.RACE,
        ),
        "the last part is not added": Mistake(
            "The sum leaves out the share of the last block of keys.",
            "How many blocks of keys are there, an incomplete last one included?",
            **formula("last share missing", also=("last share reached missing",)),
        ),
        "the sum ends with the first query": Mistake(
            "The sum ends with the last block of keys that a block's first query sees: later queries of the "
            "block see more, and lack these shares.",
            "Which query of the block sees most keys?",
            **formula("shares of the first query"),
        ),
        "only the first part is added": Mistake(
            "dQ is made of the first block of keys alone, once or in every step: the other parts are "
            "never added.",
            "dQ is the sum over all blocks of keys that its queries see.",
            **formula("first share alone", also=("first share repeated",)),
        ),
        "only the last part remains": Mistake(
            "dQ is the share of the last block of keys that these queries see, as if the sum were "
            "overwritten in every step.",
            "dQ is the sum over all blocks of keys that its queries see.",
            **formula("last share alone"),
        ),
    }


MISTAKES = {
    **parts_mistakes(key_formula),
    **select(KEYS_CATALOGUE, "alpha is missing from dQ", "alpha twice in dQ and dK"),
}

determinism = Exercise(
    name="determinism",
    lesson="11",
    kind=Kind.KERNEL,
    title="One pass that gives the same bits every time",
    signature=SIGNATURE,
    outputs=OUTPUTS,
    inputs=one_pass_inputs,
    cases=(*COMMON, SEVERAL_BLOCKS, *MANY_KEYS),
    judged=replace(judged(orders.repeats, atomics=False), many_parts=True),
    explained=HowExplained(
        weights=weight_readout(readouts.dv_weights),
        quantities=one_pass_quantities,
        mistakes=MISTAKES,
        catalogue=KEYS_CATALOGUE,
    ),
    timed=TIMED,
    points=3,
    solution="flashlearn.kernels.repeatable_backward:determinism",
)
