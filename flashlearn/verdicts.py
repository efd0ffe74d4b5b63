"""The verdicts that a case, or a whole check, can end with."""

from __future__ import annotations

import enum


class Status(enum.Enum):
    """The verdict of one case, and of a whole check: the first that applies."""

    TODO = "not started"
    CRASHED = "crashed"
    TIMEOUT = "out of time"
    OUT_OF_BOUNDS = "out of bounds"
    RACE = "race"
    WRONG = "wrong"
    NOT_YOURS = "not computed by your kernel"
    UNDECIDED = "not decided"
    NEEDS_GPU = "needs a GPU"
    PASS = "passed"
