"""`clinic_7`: all tests pass, and the model trains worse."""

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
DS_7 = "ds = p * dp"

MISTAKES = {
    "delta forgotten": Mistake(
        "The patient's mistake is still there: dQ is wrong by far more than rounding. The rows of its dS "
        "do not sum to zero.",
        "Compare line by line with the twin: s, p and dp first, then ds.",
        launcher=sick("clinic_7"),
    ),
    "delta of one tile": wrong_cure(
        "clinic_7",
        "What is subtracted is the sum of P ∘ dP over the keys of the tile alone. delta is the sum over all "
        "keys of the row; the two agree as long as a row fits into one tile.",
        "The kernel is given the delta of the whole row.",
        (DS_7, "ds = p * (dp - tl.sum(p * dp, axis=1)[:, None])"),
    ),
    "delta subtracted after the product": wrong_cure(
        "clinic_7",
        "delta is subtracted from P ∘ dP as it is, not weighted by P.",
        "dS = P ∘ (dP − delta): mind the parentheses.",
        (DS_7, "ds = p * dp - delta_i[:, None]"),
    ),
    "delta divided by the number of keys": wrong_cure(
        "clinic_7",
        "delta is divided by S_k, but it is already a mean, with the weights P, not a sum.",
        "delta_i is Σ_j P_ij dP_ij, and a row of P sums to 1: nothing remains to be divided.",
        (DS_7, "ds = p * (dp - delta_i[:, None] / S_k)"),
    ),
    "the plain mean of the tile": wrong_cure(
        "clinic_7",
        "You subtract the mean of dP over the keys of the tile, all keys alike. delta is the mean over all "
        "keys of the row, each with its weight P.",
        "The kernel is given the delta of the whole row.",
        (DS_7, "ds = p * (dp - (tl.sum(dp, axis=1) / BLOCK)[:, None])"),
    ),
    "LSE in the place of delta": wrong_cure(
        "clinic_7",
        "LSE is subtracted from dP. It belongs to the scores and has done its part in p; what dP is compared "
        "with is its mean, delta.",
        "dS = P ∘ (dP − delta).",
        (DS_7, "ds = p * (dp - lse_i[:, None])"),
    ),
    "delta added": wrong_cure(
        "clinic_7",
        "delta is there, with the wrong sign: the rows of dS sum to 2 delta.",
        "dS = P ∘ (dP − delta), deviations from the mean.",
        (DS_7, "ds = p * (dp + delta_i[:, None])"),
    ),
}

clinic_7 = backward_patient(
    7,
    "All tests pass, and the model trains worse",
    (0,),
    products=3,
    cases=(*CASES, *LOW_AND_RAGGED),
    mistakes=MISTAKES,
)
