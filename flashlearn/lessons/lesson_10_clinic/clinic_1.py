"""`clinic_1`: dK alone is wrong."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_10_clinic.patient_exercises import (
    CASES,
    LOW_AND_RAGGED,
    backward_patient,
    wrong_cure,
)
from flashlearn.lessons.lesson_10_clinic.patients import sick

DS = "ds = p * (dp - delta_i[:, None])"
SUM_DK = "        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision=\"ieee\")\n"  # fmt: skip
STORE_DK = "tl.store(dk_ptr + key_tile, dk, mask"

MISTAKES = {
    "alpha is missing from dK": Mistake(
        "The patient's mistake is still there: dK lacks the factor alpha.",
        "dK is alpha dSᵀ Q: the finished sum is multiplied by alpha.",
        launcher=sick("clinic_1"),
    ),
    "alpha applied twice to dK": wrong_cure(
        "clinic_1",
        "Now dK is too small by the factor alpha: it carries alpha twice.",
        "dK is alpha dSᵀ Q.",
        (STORE_DK, "tl.store(dk_ptr + key_tile, alpha * alpha * dk, mask"),
    ),
    "1/√D for alpha": wrong_cure(
        "clinic_1",
        "dK is multiplied by 1/√D, whatever alpha is.",
        "alpha is an argument and may be any number: use it as it is.",
        (STORE_DK, "tl.store(dk_ptr + key_tile, D**-0.5 * dk, mask"),
    ),
    "a number for alpha": wrong_cure(
        "clinic_1",
        "dK is multiplied by 0.25, whatever alpha is. That is the default of alpha only where D is 16.",
        "alpha is an argument and may be any number: use it as it is.",
        (STORE_DK, "tl.store(dk_ptr + key_tile, 0.25 * dk, mask"),
    ),
    "alpha in every step": wrong_cure(
        "clinic_1",
        "The sum of dK is multiplied by alpha in every step of the loop: what the first tile of queries adds "
        "is multiplied as often as there are tiles.",
        "Once is enough: after the loop, or on what is added.",
        (SUM_DK, f"{SUM_DK}        dk *= alpha\n"),
    ),
    "alpha put into dS": wrong_cure(
        "clinic_1",
        "dQ carries alpha twice now, as it does if alpha is put into dS, of which dQ and dK are both made.",
        "Fix a line that belongs to dK alone.",
        (DS, "ds = alpha * p * (dp - delta_i[:, None])"),
    ),
    "alpha on dV as well": wrong_cure(
        "clinic_1",
        "dV carries alpha now, which the patient's dV did not. O = P V has no alpha of its own.",
        "Which of the two sums does the factor belong to?",
        (STORE_DK, "tl.store(dk_ptr + key_tile, alpha * dk, mask"),
        ("tl.store(dv_ptr + key_tile, dv,", "tl.store(dv_ptr + key_tile, alpha * dv,"),
    ),
}

clinic_1 = backward_patient(
    1,
    "dK alone is wrong",
    (0, 1, 2),
    products=5,
    atomics=True,
    cases=(*CASES, *LOW_AND_RAGGED),
    mistakes=MISTAKES,
)
