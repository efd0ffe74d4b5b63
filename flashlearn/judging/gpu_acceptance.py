"""Would a kernel that has passed its cases also pass on a GPU? The compiler's front end, and experiments.

>>> start_front_end(exercise, answer)                 # lowers every launch in a child process
>>> outcomes = examine(exercise, answer, outcomes, rerun)
>>> outcomes = apply_refusals(answer, outcomes)       # a kernel that it refuses does not pass

The interpreter also runs what is only Python, so the front end decides. Each experiment runs the kernel once
more with something changed that a right kernel cannot notice, and its result is a `Caution`. Experiments are
small and run only where their question arises.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable

from flashlearn.compiler.lowering import FrontEndRefusal
from flashlearn.exercise import Case, Exercise, Kind
from flashlearn.interpreter.cautions import NO_OTHER, OVERFLOW
from flashlearn.interpreter.index_overflow import spread
from flashlearn.interpreter.observers.int32_overflow import Int32Overflows
from flashlearn.judging.return_values import without_numbers
from flashlearn.outcome import Caution, Outcome, Place, Status
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import FrontEndCheck, Int32OverflowProbe

_log = logging.getLogger("flashlearn.frontend")
REFUSED = "The numbers are right, but a GPU's compiler refuses this kernel."
GARBAGE = (3e4, -3e4)  # what a hidden lane may hold; within the range of every float type


def examine(
    exercise: Exercise,
    answer: Answer,
    outcomes: list[Outcome],
    rerun: Callable[[Case, float], Outcome],
) -> list[Outcome]:
    """The outcomes of a kernel that passed, with the cautions that the experiments give.

    `rerun(case, undefined)` runs one case with `undefined` in the lanes that a mask hides from a load
    without `other=`.
    """
    outcomes = list(outcomes)
    for at, caution in (check_hidden_lanes(outcomes, rerun), (0, check_offset_range(exercise, answer))):
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


def check_offset_range(exercise: Exercise, answer: Answer) -> Caution | None:
    """Do the kernel's offsets fit where its tensors are as large as in use?

    A kernel fails here only if it leaves a tensor with 32-bit integers that wrap around, as a GPU's do, and
    stays inside with integers that do not: anything else that happens proves nothing, and is not reported.
    """
    if not exercise.judged.real_sizes:
        return None
    case = exercise.cases[0]
    inputs = spread(exercise.inputs(case, case.generator()), dict(exercise.judged.real_sizes))
    wrapped = answer.run(inputs, Int32OverflowProbe())
    overflows = wrapped.observations.get(Int32Overflows)
    if wrapped.raised is None or wrapped.raised.status is not Status.OUT_OF_BOUNDS or not overflows:
        return None
    if answer.run(inputs, Int32OverflowProbe(wide=True)).raised is not None:
        return None
    value, place = overflows[0]
    words = ", ".join(f"{name} {size}" for name, size in exercise.judged.real_sizes.items())
    sentence = (
        f"At real sizes ({words}) this line computes {value} in 32 bits, which hold at most 2³¹ − 1: the "
        "offset wraps around and the address is outside the tensor. It passes because the tensors of these "
        "cases are small. Make one factor 64 bits wide before multiplying, as in "
        "`tl.program_id(0).to(tl.int64)`."
    )
    return Caution(OVERFLOW, sentence, place)


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
