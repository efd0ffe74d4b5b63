"""Questions to a kernel that has passed, which its cases did not ask: would it also pass on a GPU?

Each is an experiment, and its answer a `Caution`: the kernel runs once more with something changed that a
right kernel cannot notice. Experiments are small, and only run where there is something to ask about.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from flashlearn.comparing import call
from flashlearn.exercise import Case, Exercise
from flashlearn.observe import far
from flashlearn.observe.cautions import NO_OTHER
from flashlearn.outcome import Caution, Outcome, Place, Status

GARBAGE = (3e4, -3e4)  # what a hidden lane may hold; within the range of every float type


def examine(
    exercise: Exercise,
    function: Callable,
    outcomes: list[Outcome],
    rerun: Callable[[Case, float], Outcome],
) -> list[Outcome]:
    """The outcomes of a kernel that passed, with the cautions that the experiments give.

    `rerun(case, undefined)` runs one case with `undefined` in the lanes that a mask hides from a load
    without `other=`.
    """
    outcomes = list(outcomes)
    for at, caution in (hidden_lanes(outcomes, rerun), (0, real_sizes(exercise, function))):
        if caution is not None:
            outcomes[at] = dataclasses.replace(outcomes[at], warnings=(*outcomes[at].warnings, caution))
    return outcomes


def hidden_lanes(
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
                return at, _hidden(outcome.observation.undefined_loads, value)
    return 0, None


def _hidden(loads: list[tuple[str, Place | None]], value: float) -> Caution:
    names = " and ".join(dict.fromkeys(name for name, _ in loads))
    sentence = (
        f"{names} {'is' if len(loads) == 1 else 'are'} loaded under a mask without other=, and the result "
        f"depends on what the hidden lanes hold: with {value:g} there it is wrong. Here they held NaN, which "
        "a maximum passes over; on a GPU they are undefined. Say with other= what they hold."
    )
    return Caution(NO_OTHER, sentence, loads[0][1])


def real_sizes(exercise: Exercise, function: Callable) -> Caution | None:
    """Do the kernel's offsets fit where its tensors are as large as in use?"""
    if not exercise.real_sizes:
        return None
    case = exercise.cases[0]
    inputs = far.spread(exercise.inputs(case, case.generator()), dict(exercise.real_sizes))
    words = ", ".join(f"{name} {size}" for name, size in exercise.real_sizes.items())
    return far.overflow(lambda: call(exercise, function, dict(inputs)), words)
