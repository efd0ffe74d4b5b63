"""What keeps a failure of ours from taking a verdict with it: every stage of explaining may fail.

    >>> attempted(exercise, "weights", find_in_weights, exercise, wrong, answer)

A stage that raises says nothing, as one that finds nothing; what it raised goes to the log `LOG`, with the
exercise and the stage. Nobody reads that log unless asked: the course keeps its last entries in a file.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from flashlearn.exercise import Exercise

P = ParamSpec("P")
Result = TypeVar("Result")

LOG = logging.getLogger("flashlearn.explaining")
LOG.addHandler(logging.NullHandler())
LOG.propagate = False  # a learner who configures logging asked for messages of their own


def attempted(
    exercise: Exercise,
    stage: str,
    look: Callable[P, Result],
    *arguments: P.args,
    **named: P.kwargs,
) -> Result | None:
    """What `look` returns, or None if it raises anything but what is meant to end a check.

    It may run the learner's function again, edited or not: warnings there are suppressed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return look(*arguments, **named)
    except Exception:
        log_failure(exercise, stage)
        return None


def log_failure(exercise: Exercise, stage: str) -> None:
    """Note the exception that is being handled."""
    about = {"exercise": exercise.name, "stage": stage}
    LOG.warning("%s failed while explaining %s", stage, exercise.name, exc_info=True, extra=about)
