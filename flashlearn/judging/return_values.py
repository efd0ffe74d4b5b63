"""Sentences about what a launcher returned, and about its side effects on its inputs."""

from __future__ import annotations

import math
import re
from typing import Any

import torch

from flashlearn.exercise import Exercise, Kind
from flashlearn.outcome import OutputCheck
from flashlearn.running.evidence import Evidence

NUMBERS = re.compile(r"\b(?:fp|bf)?\d+")


def mismatch_sentence(checks: tuple[OutputCheck, ...]) -> str:
    """The plainest true sentence about outputs that differ."""
    bad = next(check for check in checks if not check.ok)
    if bad.problem:
        return f"{bad.problem}."
    if not math.isfinite(bad.error):
        return _not_finite_sentence(bad)
    if bad.error > bad.allowed == 0:
        return f"{bad.name} is off by up to {bad.error:.2g}; it has to be exact."
    if bad.error > bad.allowed:
        return f"{bad.name} is off by up to {bad.error:.2g}; {bad.allowed:.2g} is allowed at this precision."
    return (
        f"{bad.name} is noisier than it need be: its rms error is {bad.rms_ratio:.2f} times what a sum "
        "carried in fp32 may have."
    )


def _not_finite_sentence(bad: OutputCheck) -> str:
    """How the two differ: a NaN in place of a number, or a number in place of an infinity."""
    not_finite = ~torch.isfinite(bad.got.double()) & torch.isfinite(bad.expected.double())
    if not bool(not_finite.any()):
        return f"{bad.name} is wrong where the right answer is infinite."
    unwritten = torch.zeros_like(not_finite)
    if bad.writers is not None:
        unwritten = not_finite & (bad.writers.reshape(not_finite.shape) < 0)
    count, what = not_finite, "is NaN or infinite"
    if bool(unwritten.any()):
        count, what = unwritten, "was never written"
    if int(count.sum()) == count.numel():
        return f"All of {bad.name} {what}, where the right answer is a number."
    share = f"{int(count.sum())} of {count.numel()} elements"
    return f"{bad.name} {what} in {share}, where the right answer is a number."


def without_numbers(sentence: str) -> tuple[str]:
    """A key for an error's sentence: equal for sentences that differ only in numbers and dtypes."""
    return (NUMBERS.sub("#", sentence.strip().rstrip(".")),)


def count_mismatch(exercise: Exercise, returned: Any) -> str:
    """How the number of returned values is wrong: "nothing", a "list" of one output, or "others"."""
    if returned is None:
        return "nothing"
    return "list" if isinstance(returned, list) and len(exercise.outputs) == 1 else "others"


def count_sentence(exercise: Exercise, returned: Any, outputs: tuple) -> str:
    """A sentence for a launcher that returned too few or too many tensors."""
    wanted = ", ".join(exercise.outputs)
    who = "launcher" if exercise.kind is Kind.KERNEL else "function"
    what = count_mismatch(exercise, returned)
    if what == "nothing":
        return f"The {who} returned None; it should return {wanted}. Is the return statement missing?"
    if what == "list":
        return (
            f"The {who} returned a list of {len(outputs)}; it should return one tensor, {wanted}. "
            "torch.stack makes one of tensors, torch.tensor one of numbers."
        )
    return f"The {who} returned {len(outputs)} values; it should return {len(exercise.outputs)}: {wanted}."


def side_effects(exercise: Exercise, evidence: Evidence) -> tuple[tuple[str, ...], str]:
    """A change to an input, or an output in an input's memory: the fault and a sentence; else nothing.

    A formula may return an input unchanged where that is the answer.
    """
    kernel = exercise.kind is Kind.KERNEL
    if evidence.changed:
        name, who = evidence.changed[0], "launcher" if kernel else "function"
        sentence = f"The {who} changed its input {name}: inputs must be as they were afterwards."
        return ("changed input", name), sentence
    if not kernel or len(evidence.outputs) != len(exercise.outputs):
        return (), ""
    for name, out in zip(exercise.outputs, evidence.outputs, strict=True):
        if given := out.memory_of:
            sentence = f"{name} is the memory of the input {given}: allocate a fresh tensor for the result."
            return ("returned input", name, given), sentence
    return (), ""
