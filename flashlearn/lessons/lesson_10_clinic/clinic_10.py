"""`clinic_10`: works for self-attention, crashes for cross-attention."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_10_clinic.patient_exercises import (
    CASES,
    backward_patient,
    wrong_cure,
)
from flashlearn.lessons.lesson_10_clinic.patients import edited, sick
from flashlearn.lessons.shared.attention_cases import attention_case
from flashlearn.outcome import Status

LAUNCH_10 = "delta, dk, dv, alpha, S_k, S_q, D=D"

MISTAKES = {
    "S_q and S_k are swapped": Mistake(
        "The patient's mistake is still there: every square test passes, and where S_q and S_k differ the "
        "kernel leaves its tensors or forgets some queries.",
        "The message names a tensor, an index and a bound. Which length does the "
        "kernel assume for this tensor?",
        launcher=sick("clinic_10"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the smaller of both": wrong_cure(
        "clinic_10",
        "The smaller of the two lengths is used for both: queries are left out, or keys never written.",
        "There are S_q rows of q, do, LSE and delta, and S_k rows of k, v, dk and dv.",
        (LAUNCH_10, "delta, dk, dv, alpha, min(S_q, S_k), min(S_q, S_k), D=D"),
    ),
    "the larger of both": Mistake(
        "The larger length is used for both, which is too much for one of them.",
        "There are S_q rows of q, do, LSE and delta, and S_k rows of k, v, dk and dv.",
        launcher=edited("clinic_10", (LAUNCH_10, "delta, dk, dv, alpha, max(S_q, S_k), max(S_q, S_k), D=D")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the number of queries for both": Mistake(
        "The number of queries is used for the keys too: where there are fewer keys, accesses go beyond "
        "the last one, and where there are more, the last ones are never written.",
        "There are S_q rows of q, do, LSE and delta, and S_k rows of k, v, dk and dv.",
        launcher=edited("clinic_10", (LAUNCH_10, "delta, dk, dv, alpha, S_q, S_q, D=D")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the number of keys for both": Mistake(
        "The number of keys is used for the queries too: where there are fewer queries, accesses go beyond "
        "the last one, and where there are more, the last ones are left out.",
        "There are S_q rows of q, do, LSE and delta, and S_k rows of k, v, dk and dv.",
        launcher=edited("clinic_10", (LAUNCH_10, "delta, dk, dv, alpha, S_k, S_k, D=D")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "the grid is swapped too": Mistake(
        "Now the grid counts blocks of queries, though a program owns a block of keys.",
        "The patient's grid was right. Look at the arguments that the kernel is given.",
        launcher=edited(
            "clinic_10", ("grid = (triton.cdiv(S_k, BLOCK),)", "grid = (triton.cdiv(S_q, BLOCK),)")
        ),
        status=Status.OUT_OF_BOUNDS,
    ),
}

clinic_10 = backward_patient(
    10,
    "Works for self-attention, crashes for cross-attention",
    (1, 2),
    products=4,
    cases=(*CASES, attention_case(48, 80, 16, seed=13), attention_case(80, 48, 16, seed=14)),
    mistakes=MISTAKES,
)
