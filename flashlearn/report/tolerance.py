"""Why this much error is allowed and no more: the reason for every tolerance."""

from __future__ import annotations

from flashlearn.exercise import Kind
from flashlearn.judging.references import FP8_DTYPES
from flashlearn.judging.tolerance import RMS_FACTOR, RMS_MIN_ELEMENTS, reference_counts, tolerance_factor
from flashlearn.report.data import CheckResult
from flashlearn.report.units import number

RULE = (
    "The allowed error is {factor} times the largest error of plain torch at the case's precision, plus a "
    "few roundings at the size of the result. Torch computes the formula {how} (in {half} ways in fp16 "
    "and bf16{largest}. Every error is the distance from the same formula in fp64."
)
GRADIENTS = " Gradients sum more terms than most results, so their factor is larger."
RMS = (
    " In fp16 and bf16, the root mean square error of {least} or more elements must also stay within "
    "{factor} times torch's: this is where a sum kept in half precision shows first."
)
EIGHT_BITS = (
    " A result in eight bits is rounded once, to a coarse format: its error may exceed torch's largest by at "
    "most a quarter of the format's largest step."
)


def tolerance_note(result: CheckResult) -> str:
    """How the allowed error of the exercise is computed; empty where nothing is measured."""
    judged = result.exercise.judged
    checks = [check for outcome in result.outcomes for check in outcome.outputs]
    if result.exercise.kind is Kind.SYMBOLIC or not any(check.allowed > 0 for check in checks):
        return ""
    plain, half = reference_counts(result.exercise)
    how = "in one way" if plain == 1 else f"in {plain} ways"
    largest = "), and the largest error counts" if plain > 1 else ", where the largest error counts)"
    note = RULE.format(factor=tolerance_factor(result.exercise), how=how, half=half, largest=largest)
    note += EIGHT_BITS if set(FP8_DTYPES) & set(map(str, judged.output_dtypes.values())) else ""
    note += GRADIENTS if judged.gradient else ""
    return note + (
        RMS.format(least=RMS_MIN_ELEMENTS, factor=number(RMS_FACTOR)) if judged.accumulates else ""
    )
