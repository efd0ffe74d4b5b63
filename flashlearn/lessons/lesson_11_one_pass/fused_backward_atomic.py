"""`fused_backward_atomic`: dQ, dK and dV in one pass, a program per block of keys."""

from __future__ import annotations

from flashlearn.exercise import Exercise, HowExplained, Kind, Mistake
from flashlearn.lessons.lesson_11_one_pass import orders
from flashlearn.lessons.lesson_11_one_pass.faulty_kernels import faulty
from flashlearn.lessons.lesson_11_one_pass.one_pass_cases import (
    COMMON,
    MANY_KEYS,
    OUTPUTS,
    SIGNATURE,
    TIMED,
    judged,
    one_pass_inputs,
    one_pass_quantities,
    weight_readout,
)
from flashlearn.lessons.lesson_11_one_pass.one_pass_mistakes import (
    KEYS_CATALOGUE,
    atomic_mistakes,
    key_formula,
    select,
)
from flashlearn.lessons.shared import readouts
from flashlearn.outcome import Status

MISTAKES = {
    **atomic_mistakes(key_formula, "fused_backward_atomic", "dQ", "is"),
    "stored, not added": Mistake(
        "Each program stores its share of dQ over those of the others: what remains is the share of the "
        "last one.",
        "dQ is a sum over programs. What does a store do to the other programs' shares?",
        launcher=faulty("fused_backward_atomic", "stored, not added"),
        status=Status.RACE,
    ),
    **select(
        KEYS_CATALOGUE,
        "alpha is missing from dQ",
        "dQ from dS transposed",
        "dQ from V",
        "padded keys get a probability",
        "padded queries repeat the last one",
        "loop start without S_k − S_q",
        "the causal mask is always on",
    ),
}

fused_backward_atomic = Exercise(
    name="fused_backward_atomic",
    lesson="11",
    kind=Kind.KERNEL,
    title="dQ, dK and dV in one pass, a program per block of keys",
    signature=SIGNATURE,
    outputs=OUTPUTS,
    inputs=one_pass_inputs,
    cases=(*COMMON, *MANY_KEYS),
    judged=judged(orders.owns_keys, atomics=True),
    explained=HowExplained(
        weights=weight_readout(readouts.dv_weights),
        quantities=one_pass_quantities,
        mistakes=MISTAKES,
        catalogue=KEYS_CATALOGUE,
    ),
    timed=TIMED,
    points=3,
    solution="flashlearn.kernels.fused_backward:fused_backward_atomic",
)
