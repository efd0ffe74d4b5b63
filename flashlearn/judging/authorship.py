"""Who computed a right answer: the learner's kernels, or something else.

Every output must consist of bytes that a kernel stored and that nothing changed afterwards, or of what torch
made of such bytes. Torch's ready-made answers are refused, and a kernel must have done the arithmetic: a
kernel that only copied, scaled or shifted an answer that existed before it ran does not count.
"""

from __future__ import annotations

from flashlearn.exercise import Exercise, Inputs
from flashlearn.outcome import Place, Status
from flashlearn.running.evidence import Evidence, Output
from flashlearn.running.provenance import OVERWRITTEN, PARTLY, TORCH

ORIGIN_SENTENCES = {
    TORCH: "no kernel stored it: torch computed it.",
    OVERWRITTEN: "it was overwritten after your kernel had stored into it.",
    PARTLY: "no kernel stored all of it: torch computed the rest.",
}


def check_authorship(
    exercise: Exercise, inputs: Inputs, evidence: Evidence
) -> tuple[Status, str, Place | None]:
    """PASS, or NOT_YOURS with a sentence and a place, for outputs that are right."""
    if evidence.forbidden:
        operation, place = evidence.forbidden[0]
        sentence = (
            f"The answer is right, but {operation} computed it (or part of it). "
            "Here your own kernel has to: the launcher may allocate, copy, cast and reshape."
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
        f"The answer is right, but your kernels did {done} arithmetic operations where it takes "
        f"about {needed:.0f}: the work was done outside them."
    )


def _origin_sentence(name: str, out: Output) -> str:
    """A sentence for an output that the observer did not see the kernels compute; else nothing."""
    if out.made_by:
        return f"{name} is right, but {ORIGIN_SENTENCES[out.made_by]}"
    if out.copied and not out.whole:
        return (
            f"{name} is right, but {out.copied} held the same numbers, but for a factor and a constant, "
            "without your kernel: torch or NumPy computed them."
        )
    if out.copied:
        return f"{name} is right, but {out.copied} held it before your kernel ran: the kernel copied it."
    return ""
