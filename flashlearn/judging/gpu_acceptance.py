"""Would a kernel that has passed its cases also pass on a GPU? The compiler's front end, and an experiment.

>>> start_front_end(exercise, answer)                 # lowers every launch in a child process
>>> outcomes = examine(outcomes, rerun)
>>> outcomes = apply_refusals(answer, outcomes)       # a kernel that it refuses does not pass

The interpreter also runs what is only Python, so the front end decides. An experiment runs the kernel once
more with something changed that a right kernel cannot notice, and its result is a `Caution`. It is small and
runs only where its question arises.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable

from flashlearn.compiler.lowering import FrontEndRefusal
from flashlearn.exercise import Case, Exercise, Kind
from flashlearn.interpreter.cautions import NO_OTHER
from flashlearn.judging.similar_sentences import without_numbers
from flashlearn.outcome import Caution, Outcome, Place, Status
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import FrontEndCheck

_log = logging.getLogger("flashlearn.frontend")
REFUSED = "The numbers are right, but a GPU's compiler refuses this kernel."
GARBAGE = (3e4, -3e4)  # what a hidden lane may hold; within the range of every float type


def examine(outcomes: list[Outcome], rerun: Callable[[Case, float], Outcome]) -> list[Outcome]:
    """The outcomes of a kernel that passed, with the caution that an experiment gives.

    `rerun(case, undefined)` runs one case with `undefined` in the lanes that a mask hides from a load
    without `other=`.
    """
    outcomes = list(outcomes)
    at, caution = check_hidden_lanes(outcomes, rerun)
    if caution is not None:
        outcomes[at] = dataclasses.replace(outcomes[at], warnings=(*outcomes[at].warnings, caution))
    return outcomes


def check_hidden_lanes(
    outcomes: list[Outcome], rerun: Callable[[Case, float], Outcome]
) -> tuple[int, Caution | None]:
    """Does the result depend on what a masked load without `other=` leaves in its hidden lanes?

    Here they hold NaN, which a maximum ignores; on a GPU they may hold any number.
    """
    asked = [i for i, o in enumerate(outcomes) if o.observation is not None and o.observation.undefined_loads]
    asked.sort(key=lambda i: outcomes[i].observation.total_operations)
    for at in asked[:2]:
        outcome = outcomes[at]
        for value in GARBAGE:
            if rerun(outcome.case, value).status is Status.WRONG:
                return at, _hidden_lane_caution(outcome.observation.undefined_loads, value)
    return 0, None


def _hidden_lane_caution(loads: list[tuple[str, Place | None]], value: float) -> Caution:
    names = " and ".join(dict.fromkeys(name for name, _ in loads))
    sentence = (
        f"{names} {'is' if len(loads) == 1 else 'are'} loaded under a mask without other=, and the result "
        f"depends on what the hidden lanes hold: with {value:g} there it is wrong. Here they held NaN, which "
        "a maximum ignores; on a GPU they are undefined. Set them with other=."
    )
    return Caution(NO_OTHER, sentence, loads[0][1])


def start_front_end(exercise: Exercise, answer: Answer) -> None:
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
