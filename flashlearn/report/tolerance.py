"""Why so much error is allowed and no more: the reason for every tolerance."""

from __future__ import annotations

from flashlearn.exercise import Kind
from flashlearn.judging.tolerance import (
    FP8_DTYPES,
    RMS_FACTOR,
    RMS_MIN_ELEMENTS,
    reference_counts,
    tolerance_factor,
)
from flashlearn.report.data import CheckResult
from flashlearn.report.units import number

RULE = (
    "Allowed is {factor} times the largest error that plain torch makes at the case's precision, {how}, and "
    "a few roundings at the size of the result. Every error is the distance to the same formula in fp64."
)
GRADIENTS = " That is for gradients, which sum more; other results have 2 times."
RMS = (
    " In fp16 and bf16 the root mean square error of {least} elements or more must also stay within {factor} "
    "times torch's: a sum kept in half precision shows there first."
)
EIGHT_BITS = (
    " A result of eight bits is rounded once, to a coarse format: its error may exceed torch's largest by a "
    "quarter of the format's largest step at most."
)


def tolerance_note(result: CheckResult) -> str:
    """How what is allowed comes about, for the exercise; empty where nothing is measured."""
    judged = result.exercise.judged
    checks = [check for outcome in result.outcomes for check in outcome.outputs]
    if result.exercise.kind is Kind.SYMBOLIC or not any(check.allowed > 0 for check in checks):
        return ""
    plain, half = reference_counts(result.exercise)
    one = "computing the formula directly" if plain == 1 else f"the worst of {plain} ways of computing it"
    note = RULE.format(factor=tolerance_factor(result.exercise), how=f"{one} ({half} ways in fp16 and bf16)")
    note += EIGHT_BITS if set(FP8_DTYPES) & set(judged.output_dtypes.values()) else ""
    note += GRADIENTS if judged.gradient else ""
    return note + (
        RMS.format(least=RMS_MIN_ELEMENTS, factor=number(RMS_FACTOR)) if judged.accumulates else ""
    )
