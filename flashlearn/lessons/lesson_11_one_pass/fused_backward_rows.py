"""`fused_backward_rows`: the same pass, a program per block of queries."""

from __future__ import annotations

from flashlearn.exercise import Exercise, HowExplained, Kind
from flashlearn.lessons.lesson_11_one_pass import orders
from flashlearn.lessons.lesson_11_one_pass.one_pass_cases import (
    COMMON,
    MANY_QUERIES,
    OUTPUTS,
    SIGNATURE,
    TIMED,
    judged,
    one_pass_inputs,
    one_pass_quantities,
    weight_readout,
)
from flashlearn.lessons.lesson_11_one_pass.one_pass_mistakes import (
    QUERIES_CATALOGUE,
    atomic_mistakes,
    query_formula,
    select,
)
from flashlearn.lessons.shared import readouts

MISTAKES = {
    **atomic_mistakes(query_formula, "fused_backward_rows", "dK and dV", "are"),
    **select(
        QUERIES_CATALOGUE,
        "alpha is missing from dK",
        "dS not transposed in dK",
        "padded queries repeat the last one",
        "loop end without S_k − S_q",
    ),
}

fused_backward_rows = Exercise(
    name="fused_backward_rows",
    lesson="11",
    kind=Kind.KERNEL,
    title="The same pass, a program per block of queries",
    signature=SIGNATURE,
    outputs=OUTPUTS,
    inputs=one_pass_inputs,
    cases=(*COMMON, *MANY_QUERIES),
    judged=judged(orders.owns_queries, atomics=True),
    explained=HowExplained(
        weights=weight_readout(readouts.dq_weights),
        quantities=one_pass_quantities,
        mistakes=MISTAKES,
        catalogue=QUERIES_CATALOGUE,
    ),
    timed=TIMED,
    points=2,
    solution="flashlearn.kernels.fused_backward:fused_backward_rows",
)
