"""A kernel passes only if the compiler's front end accepts it: the interpreter also runs what is only Python.

>>> front_end.start(exercise, answer)                          # lowers every launch in a child process
>>> outcomes = front_end.apply_refusals(answer, outcomes)      # a kernel that it refuses does not pass
"""

from __future__ import annotations

import dataclasses
import logging

from flashlearn.compiler.lowering import FrontEndRefusal
from flashlearn.exercise import Exercise, Kind
from flashlearn.judging.return_values import without_numbers
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import FrontEndCheck

_log = logging.getLogger("flashlearn.frontend")
REFUSED = "The numbers are right, but a GPU's compiler refuses this kernel."


def start(exercise: Exercise, answer: Answer) -> None:
    """Start lowering everything that a kernel answer has launched so far, in the background."""
    if exercise.kind is Kind.KERNEL:
        _refusals(answer, FrontEndCheck(wait=False))


def apply_refusals(answer: Answer, outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes; those that launched a kernel that the front end refuses become failures."""
    refused = {refusal.variant: refusal for refusal in _refusals(answer, FrontEndCheck())}
    return [_refused_outcome(outcome, refused) for outcome in outcomes] if refused else outcomes


def _refusals(answer: Answer, how: FrontEndCheck) -> tuple[FrontEndRefusal, ...]:
    """What the front end refuses; empty if the front end itself fails, since that rejects no kernel."""
    try:
        return answer.run({}, how).refusals
    except Exception:
        _log.exception("the front end could not be asked")
        return ()


def _refused_outcome(outcome: Outcome, refused: dict[int, FrontEndRefusal]) -> Outcome:
    met = next((refused[launch.variant] for launch in outcome.launches if launch.variant in refused), None)
    if met is None or outcome.status is not Status.PASS:
        return outcome
    sentence = f"{REFUSED} {met.sentence}"
    fault, like = ("crash", "CompilationError", met.sentence), without_numbers(sentence)
    return dataclasses.replace(
        outcome, status=Status.CRASHED, message=sentence, place=met.place, fault=fault, like=like
    )
