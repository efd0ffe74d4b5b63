"""`clinic_8`: infinite for large values in fp16."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_10_clinic.patient_exercises import (
    CASES,
    LARGE_V,
    LOW_SCORES,
    forward_patient,
    wrong_cure,
)
from flashlearn.lessons.lesson_10_clinic.patients import sick

ACC_8 = "acc = tl.zeros((BLOCK, D), v_ptr.dtype.element_ty)"
PV_8 = 'pv = tl.dot(p.to(v.dtype), v, input_precision="ieee")'
SUM_8 = "acc = (acc * rescale[:, None] + pv).to(acc.dtype)"

MISTAKES = {
    "the accumulator is in half precision": Mistake(
        "O is still infinite in fp16 where V is large: a sum that is not yet divided by l is held in V's "
        "dtype, or converted to it.",
        "The sum may exceed 65504, the largest number of fp16, where its quotient by l does not.",
        launcher=sick("clinic_8"),
    ),
    "the accumulator is in bf16": wrong_cure(
        "clinic_8",
        "With the range of bf16 nothing overflows any more, but it has 8 bits of precision: the sum loses "
        "the low digits of what each tile adds. Inputs in fp32 suffer as well.",
        "An accumulator needs range and precision.",
        (ACC_8, "acc = tl.zeros((BLOCK, D), tl.bfloat16)"),
    ),
    "the accumulator is always in fp16": wrong_cure(
        "clinic_8",
        "The sum is in fp16 for all inputs now, also for those in fp32 and bf16.",
        "An accumulator needs range and precision: which dtype has both?",
        (ACC_8, "acc = tl.zeros((BLOCK, D), tl.float16)"),
    ),
    "the accumulator is clamped": wrong_cure(
        "clinic_8",
        "Clamped at 65504 there is no infinity any more, only a wrong number: O is too small where the "
        "sum was cut.",
        "The number 65504 belongs to a format. Does the sum have to be in it?",
        (SUM_8, "acc = tl.minimum(acc * rescale[:, None] + pv, 65504.0).to(acc.dtype)"),
    ),
    "the tile's product is rounded": wrong_cure(
        "clinic_8",
        "Each tile's product is rounded to half precision before it is added; sixteen values of 10⁴ are "
        "too many for fp16 already.",
        "tl.dot returns fp32: leave its result in fp32.",
        (ACC_8, "acc = tl.zeros((BLOCK, D), tl.float32)"),
        (PV_8, 'pv = tl.dot(p.to(v.dtype), v, input_precision="ieee").to(v.dtype)'),
    ),
}

clinic_8 = forward_patient(
    8,
    "Infinite for large values in fp16",
    cases=(*CASES, *LARGE_V, *LOW_SCORES),
    mistakes=MISTAKES,
)
