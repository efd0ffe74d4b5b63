"""What an exercise's review says of a function, asked the way a check asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flashlearn.course import answers
from flashlearn.exercise import Exercise
from flashlearn.running.answer import Here


def reviewed(exercise: Exercise, function: Callable[..., Any]) -> str:
    """The review's complaint; empty if it has none."""
    return exercise.judged.review(Here(function, exercise), answers.earlier_answer)
