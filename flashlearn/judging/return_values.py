"""What a launcher returned: sentences about wrong numbers and side effects, and who computed right numbers.

A right answer is the learner's where every output consists of bytes that a kernel stored and that nothing
changed afterwards, or of what torch made of such bytes. Torch's ready-made answers are refused, and a kernel
must have done the arithmetic: a kernel that only copied, scaled or shifted an answer that existed before it
ran does not count.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from flashlearn.exercise import Exercise, Inputs, Kind
from flashlearn.outcome import OutputCheck, Place, Status
from flashlearn.running.evidence import Evidence, Output
from flashlearn.running.provenance import OVERWRITTEN, PARTLY, TORCH

ORIGIN_SENTENCES = {
    TORCH: "no kernel stored it: torch computed it.",
    OVERWRITTEN: "it was overwritten after your kernel stored it.",
    PARTLY: "no kernel stored all of it: torch computed the rest.",
}

SHARES = "shares the memory of"
"""What is said of an output that lies where an input does."""


def mismatch_sentence(checks: tuple[OutputCheck, ...]) -> str:
    """The plainest true sentence about outputs that differ."""
    bad = next(check for check in checks if not check.ok)
    if bad.problem:
        return f"{bad.problem}."
    if not math.isfinite(bad.error):
        return _not_finite_sentence(bad)
    several = len(bad.name) > 2 and bad.name.endswith("s")  # ids, scales, losses; ds is one matrix
    off = f"{bad.name} {'are' if several else 'is'} off by up to {in_words(bad.error)}"
    if bad.error > bad.allowed == 0:
        return f"{off}; {'they' if several else 'it'} must be exact."
    if bad.error > bad.allowed:
        return f"{off}; {bad.allowed:.2g} is allowed at this precision."
    return (
        f"{bad.name} is less accurate than it should be: its rms error is {bad.rms_ratio:.2f} times what "
        "is allowed for values kept in fp32 on the way."
    )


def in_words(number: float) -> str:
    """A number to two figures, as one writes it in a sentence: 0.013, 270, 12000.

    >>> in_words(266.4)
    '270'
    """
    short = f"{number:.2g}"
    return f"{float(short):.0f}" if 100 <= number < 1e6 else short


def _infinite_sentence(bad: OutputCheck) -> str:
    """Other numbers in place of infinities, and how many elements besides are wrong."""
    finite = torch.isfinite(bad.expected)
    apart = (bad.got.double() - bad.expected.double()).abs()[finite]
    wrong, others = int((apart > bad.allowed).sum()), apart.numel()
    where = f"{bad.name} is wrong where the right answer is infinite"
    if not wrong:
        return f"{where}."
    some = f"{wrong} of its {others} other elements {'is' if wrong == 1 else 'are'}"
    every = "its other element is" if others == 1 else "all of its other elements are"
    return f"{where}; {every if wrong == others else some} wrong, too."


def _not_finite_sentence(bad: OutputCheck) -> str:
    """How the two differ: a NaN in place of a number, or a number in place of an infinity."""
    not_finite = ~torch.isfinite(bad.got.double()) & torch.isfinite(bad.expected.double())
    if not bool(not_finite.any()):
        return _infinite_sentence(bad)
    unwritten = torch.zeros_like(not_finite)
    if bad.writers is not None:
        unwritten = not_finite & (bad.writers.reshape(not_finite.shape) < 0)
    count, singular, plural = not_finite, "is NaN or infinite", "are NaN or infinite"
    if bool(unwritten.any()):
        count, singular, plural = unwritten, "was never written", "were never written"
        if bool(unwritten.all()) and unwritten.numel() > 1:
            return f"No element of {bad.name} was ever written."
    number, total = int(count.sum()), count.numel()
    if number == total:
        every = bad.name if total == 1 else f"Every element of {bad.name}"
        return f"{every} {singular}; the right answer is finite."
    verb = singular if number == 1 else plural
    return f"{number} of {total} elements of {bad.name} {verb}, where the right answer is finite."


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
            "torch.stack joins tensors into one, torch.tensor makes one from numbers."
        )
    return f"The {who} returned {len(outputs)} values; it should return {len(exercise.outputs)}: {wanted}."


def side_effects(exercise: Exercise, evidence: Evidence) -> tuple[tuple[str, ...], str]:
    """A change to an input, or an output in an input's memory: the fault and a sentence; else nothing.

    A formula may return an input unchanged where that is the answer.
    """
    kernel = exercise.kind is Kind.KERNEL
    if evidence.changed:
        name = evidence.changed[0]
        sentence = f"After the call the input {name} has other values: inputs must stay unchanged."
        into = next((i for i, out in enumerate(evidence.outputs) if kernel and out.memory_of == name), None)
        if into is not None and len(evidence.outputs) == len(exercise.outputs):
            sentence += f" {exercise.outputs[into]} {SHARES} {name}."
        return ("changed input", name), sentence
    if not kernel or len(evidence.outputs) != len(exercise.outputs):
        return (), ""
    for name, out in zip(exercise.outputs, evidence.outputs, strict=True):
        if given := out.memory_of:
            sentence = f"{name} {SHARES} the input {given}: allocate a new tensor for the result."
            return ("returned input", name, given), sentence
    return (), ""


def check_authorship(
    exercise: Exercise, inputs: Inputs, evidence: Evidence
) -> tuple[Status, str, Place | None]:
    """PASS, or NOT_YOURS with a sentence and a place, for outputs that are right."""
    if evidence.forbidden:
        operation, place = evidence.forbidden[0]
        sentence = (
            f"The answer is right, but {operation} computed it (or part of it). "
            "Your own kernel must do that: the launcher may allocate, copy, cast and reshape."
        )
        return Status.NOT_YOURS, sentence, place
    if not evidence.observation.launches:
        return Status.NOT_YOURS, "The answer is right, but no kernel was launched to compute it.", None
    sentence = _too_little_work(exercise, inputs, evidence)
    for name, out in zip(exercise.outputs, evidence.outputs, strict=True):
        sentence = sentence or _origin_sentence(name, out)
    if not sentence and evidence.arithmetic and not exercise.judged.launcher_arithmetic:
        operation, place = evidence.arithmetic[0]
        sentence = (
            f"The answer is right, but {operation} computed with the inputs in the launcher. That arithmetic "
            "is the exercise: it belongs in your kernel. The launcher may allocate, copy, cast and reshape."
        )
        return Status.NOT_YOURS, sentence, place
    return (Status.NOT_YOURS, sentence, None) if sentence else (Status.PASS, "", None)


def _too_little_work(exercise: Exercise, inputs: Inputs, evidence: Evidence) -> str:
    if exercise.judged.work is None:
        return ""
    needed = exercise.judged.work(inputs).operations
    done = evidence.observation.total_operations
    if done >= needed / 2:
        return ""
    return (
        f"The answer is right, but {done} arithmetic operations were done in kernels, where "
        f"about {needed:.0f} are needed: the work was done elsewhere."
    )


def _origin_sentence(name: str, out: Output) -> str:
    """A sentence for an output that the observer did not see the kernels compute; else nothing."""
    if out.made_by:
        return f"{name} is right, but {ORIGIN_SENTENCES[out.made_by]}"
    if out.copied and not out.whole:
        return (
            f"{name} is right, but {out.copied} already held the same numbers, up to a factor and a "
            "constant, without your kernel: torch or NumPy computed them."
        )
    if out.copied:
        return f"{name} is right, but {out.copied} held it before your kernel ran: the kernel copied it."
    return ""
