"""Functions that answer exercises: solutions, the learner's functions that passed, and declared mistakes."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from flashlearn.exercise import Exercise, Kind
from flashlearn.judging.references import output_dtypes
from flashlearn.lessons import find
from flashlearn.running.answer import Answer, Here
from flashlearn.running.values import as_tuple

passed: dict[str, Callable] = {}
"""The functions that passed a check in this session, by exercise."""


def use(name: str, function: Callable) -> Callable:
    """`function` if it has passed its check in this session, else the course's own solution.

    Later cells of a lesson build on an exercise; this is how they run whether it is solved or not.
    """
    exercise = find(name)
    return function if passed.get(name) is function else solution(exercise)


def passed_or_solution(name: str) -> Callable:
    """The function that last passed `name`'s check in this session, or the course's own if none has."""
    return passed.get(name) or solution(find(name))


def earlier_answer(name: str) -> Answer:
    """The same as an `Answer`, for a review that builds on another exercise."""
    return Here(passed_or_solution(name), find(name))


def solution(exercise: Exercise) -> Callable:
    """The package's own function for an exercise: its kernel's launcher, or the reference."""
    if not exercise.solution:
        return exercise.reference
    module, _, attribute = exercise.solution.partition(":")
    return getattr(importlib.import_module(module), attribute)


def mistake_function(exercise: Exercise, name: str) -> Callable:
    """A declared mistake as the function that a learner who makes it would submit.

    A launcher is returned unchanged; the outputs of a torch formula are converted to the required dtypes.
    """
    mistake = exercise.explained.mistakes[name]
    if mistake.launcher is not None:
        return inspect.unwrap(mistake.launcher)

    def handed_in(*values: Any) -> Any:
        inputs = dict(zip(exercise.parameters(), values, strict=True))
        if exercise.kind is Kind.SYMBOLIC:
            return mistake.wrong(**inputs)
        from torch.utils._python_dispatch import _disable_current_modes

        with _disable_current_modes():  # a formula in place of a learner's kernel needs no observer
            wrong = mistake.wrong(**inputs)
            if exercise.judged.call is not None:  # outputs are allocated like it
                return wrong
            dtypes = output_dtypes(exercise, as_tuple(exercise.reference(**inputs)))
        outputs = [out.to(dtype) for out, dtype in zip(as_tuple(wrong), dtypes, strict=True)]
        return tuple(outputs) if isinstance(wrong, tuple) else outputs[0]

    return handed_in
