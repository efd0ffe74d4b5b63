"""`clinic_6`: right forward, garbage backward."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_10_clinic.patient_exercises import (
    forward_patient,
    wrong_cure,
)
from flashlearn.lessons.lesson_10_clinic.patients import sick
from flashlearn.lessons.shared import reference

LSE_6 = "m_i + tl.log2(l_i), mask"


def _with_constant(ln2: float) -> Callable[..., tuple[Tensor, Tensor]]:
    """(O, LSE) where LSE was converted from base 2 by this number."""

    def converted(q: Tensor, k: Tensor, v: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
        o, lse = reference.attention_forward(q, k, v, alpha)
        return o, lse * reference.LOG2E * ln2

    return converted


MISTAKES = {
    "LSE in base 2": Mistake(
        "The patient's mistake is still there: LSE is 1.4427 times as large as it should be, everywhere.",
        "1.4427 is log2 e, and the backward pass reads LSE as a natural logarithm.",
        launcher=sick("clinic_6"),
    ),
    "multiplied by log2 e once more": wrong_cure(
        "clinic_6",
        "LSE is now too large by a factor of (log2 e)² = 2.08: the conversion goes the wrong way.",
        "2^(x log2 e) = e^x. From the exponent of 2 back to that of e, is it a product or a quotient?",
        (LSE_6, "(m_i + tl.log2(l_i)) * log2e, mask"),
    ),
    "only m is converted": wrong_cure(
        "clinic_6",
        "m is in natural units, but the logarithm of l is in base 2: two different units are added.",
        "LSE is m + log l, where both use base e.",
        (LSE_6, "m_i / log2e + tl.log2(l_i), mask"),
    ),
    "only l is converted": wrong_cure(
        "clinic_6",
        "The logarithm of l is natural, but m is in base 2: two different units are added.",
        "LSE is m + log l, where both use base e.",
        (LSE_6, "m_i + tl.log(l_i), mask"),
    ),
    "a constant with too few digits": Mistake(
        "LSE is off by the same small part of itself everywhere, as it is if the constant of the "
        "conversion has too few digits.",
        "fp32 has seven digits.",
        wrong=_with_constant(0.6931),
        also=tuple(_with_constant(c) for c in (0.693, 0.69315, 1 / 1.44, 1 / 1.443, 1 / 1.4427)),
    ),
}

clinic_6 = forward_patient(
    6,
    "Right forward, garbage backward",
    mistakes=MISTAKES,
)
