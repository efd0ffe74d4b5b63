"""A kernel passes only if the real compiler's front end takes it: what runs interpreted may be Python alone.

>>> frontend.begin(exercise, answer)                # it looks at every launch, in a process of its own
>>> outcomes = frontend.decide(answer, outcomes)    # and what it refuses does not pass
"""

from __future__ import annotations

import dataclasses
import logging

from flashlearn.compiler.lowering import FrontEndRefusal
from flashlearn.exercise import Exercise, Kind
from flashlearn.judging.return_values import but_for_figures
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import FrontEndCheck

_log = logging.getLogger("flashlearn.frontend")
REFUSED = "The numbers are right, but a GPU's compiler refuses this kernel."


def begin(exercise: Exercise, answer: Answer) -> None:
    """Have the front end begin with all that an answer in kernels has launched so far."""
    if exercise.kind is Kind.KERNEL:
        _ask(answer, FrontEndCheck(wait=False))


def decide(answer: Answer, outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes, with those that launched a kernel that the front end refuses made failures."""
    refused = {refusal.variant: refusal for refusal in _ask(answer, FrontEndCheck())}
    return [_judged(outcome, refused) for outcome in outcomes] if refused else outcomes


def _ask(answer: Answer, how: FrontEndCheck) -> tuple[FrontEndRefusal, ...]:
    """What is refused; nothing where the front end itself is at fault, which rejects no kernel."""
    try:
        return answer.run({}, how).refusals
    except Exception:
        _log.exception("the front end could not be asked")
        return ()


def _judged(outcome: Outcome, refused: dict[int, FrontEndRefusal]) -> Outcome:
    met = next((refused[launch.variant] for launch in outcome.launches if launch.variant in refused), None)
    if met is None or outcome.status is not Status.PASS:
        return outcome
    sentence = f"{REFUSED} {met.sentence}"
    fault, like = ("crash", "CompilationError", met.sentence), but_for_figures(sentence)
    return dataclasses.replace(
        outcome, status=Status.CRASHED, message=sentence, place=met.place, fault=fault, like=like
    )
