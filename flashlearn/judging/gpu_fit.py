"""Would the blocks of a kernel that has passed fit every GPU's shared memory? If not, what to change.

    >>> with asking(exercise, answer, drawn) as fitting:
    ...     ...                                              # something else meanwhile
    ...     outcomes = with_cautions(exercise, outcomes, fitting)

The sentence is the same on every machine, whether it has a GPU or not, and costs no verdict. It is said where
a case that runs on GPUs does not start on one of them, and where one that is only observed would start on
none.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from flashlearn.exercise import Case, Exercise, Inputs
from flashlearn.interpreter.cautions import TOO_LARGE
from flashlearn.judging import draws
from flashlearn.judging.draws import Draws
from flashlearn.machine import device
from flashlearn.outcome import Caution, Outcome, Status
from flashlearn.running.answer import Answer
from flashlearn.running.evidence import Evidence
from flashlearn.running.fitting import Drawing, Fitting

REQUIRED = re.compile(r"shared memory, Required: (\d+)")


@dataclass(frozen=True)
class TooLarge:
    """A launch that this GPU did not start: the kernel's name, and the caution for it."""

    kernel: str
    caution: Caution


def asking(exercise: Exercise, answer: Answer, drawn: Draws) -> AbstractContextManager[Fitting | None]:
    """Ask, in the background, about what the answer would launch on a GPU in the exercise's cases."""
    if exercise.timed.case is not None and not device.has_gpu():
        draws.without_data(
            exercise, exercise.timed.case
        )  # what it imports is needed for a prediction as well
    shapes = [
        Drawing(functools.partial(_shapes, drawn, case), everywhere=case.compiled)
        for case in cases_of(exercise)
    ]
    return answer.fitting(shapes)


def with_cautions(exercise: Exercise, outcomes: list[Outcome], fitting: Fitting | None) -> list[Outcome]:
    """The outcomes, of which the last has a caution for each kernel that does not fit."""
    if fitting is None or not all(outcome.status is Status.PASS for outcome in outcomes):
        return outcomes
    cases = cases_of(exercise)
    found: dict[str, Caution] = {}
    for need in fitting.found():
        caution = _caution(need.needed, need.constants, need.kernel, cases[need.draw])
        found.setdefault(need.kernel, caution)
    warnings = (*outcomes[-1].warnings, *found.values())
    return [*outcomes[:-1], dataclasses.replace(outcomes[-1], warnings=warnings)]


def raised(case: Case, evidence: Evidence) -> TooLarge | None:
    """A launch that ended since a block needs more shared memory than it can have; None for any other end."""
    error = evidence.raised
    needed = REQUIRED.search(error.text) if error is not None and error.kind == "OutOfResources" else None
    if needed is None:
        return None
    launch = evidence.observation.launches[-1:] if evidence.observation is not None else []
    constants = {**launch[0].constexprs, **launch[0].options} if launch else {}
    kernel = launch[0].name if launch else ""
    everywhere = dict.fromkeys(device.NAMED_LIMITS, int(needed[1]))
    return TooLarge(kernel, _caution(everywhere, constants, kernel, case))


def _caution(needed: Mapping[int, int], constants: Mapping[str, int], kernel: str, case: Case) -> Caution:
    sentence = device.shared_memory_sentence(needed, constants, kernel or "this kernel")
    return Caution(TOO_LARGE, f"In the case {case.name}, a{sentence[1:]}")


def cases_of(exercise: Exercise) -> Sequence[Case]:
    """The cases that are asked about: all, and the one for timing."""
    return [*exercise.cases, *([exercise.timed.case] if exercise.timed.case is not None else [])]


def _shapes(drawn: Draws, case: Case) -> Inputs | None:
    """A case's inputs, with data only where they are drawn already; None if that is not possible."""
    seen = not case.gpu and case is not drawn.exercise.timed.case
    return drawn.inputs(case) if seen else draws.without_data(drawn.exercise, case)
