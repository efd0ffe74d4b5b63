"""`clinic_9`: right for short sequences only."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_10_clinic.patient_exercises import (
    forward_patient,
    wrong_cure,
)
from flashlearn.lessons.lesson_10_clinic.patients import sick

SUM_9 = "acc = acc + pv"

MISTAKES = {
    "acc is not rescaled": Mistake(
        "The patient's mistake is still there: O is wrong as soon as there is more than one tile of keys.",
        "LSE is made of m and l, and O = acc / l. What happens to l in a step that does not happen to acc?",
        launcher=sick("clinic_9"),
    ),
    "the new product is rescaled": wrong_cure(
        "clinic_9",
        "The new tile's product is multiplied by the factor of the risen maximum. It is the only part "
        "that is in units of the new maximum already; the old sum is not.",
        "The factor exp(m_old − m_new) turns the old unit into the new one: which of the two terms is in "
        "the old one?",
        (SUM_9, "acc = acc + pv * rescale[:, None]"),
    ),
    "old and new are rescaled": wrong_cure(
        "clinic_9",
        "The factor exp(m_old − m_new) multiplies both terms. For the first tile it is exp(−inf) = 0, and "
        "the tile is lost completely.",
        "Only the old sum is relative to the old maximum, so only it must be rescaled.",
        (SUM_9, "acc = (acc + pv) * rescale[:, None]"),
    ),
    "divided by rescale": wrong_cure(
        "clinic_9",
        "The old sum is divided by the factor that it should be multiplied by. In the first tile the "
        "factor is exp(−∞) = 0, and so is the sum: 0/0 is NaN.",
        "exp(m_old − m_new) is at most 1: when the maximum grows, the old sum counts less.",
        (SUM_9, "acc = acc / rescale[:, None] + pv"),
    ),
    "rescaled by the quotient of the sums": wrong_cure(
        "clinic_9",
        "The old sum is divided by l in every step, besides the factor exp(m_old − m_new).",
        "O is divided by l once, after the last tile.",
        (SUM_9, "acc = acc * (rescale / l_i)[:, None] + pv"),
    ),
}

clinic_9 = forward_patient(
    9,
    "Right for short sequences only",
    mistakes=MISTAKES,
)
