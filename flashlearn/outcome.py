"""What a check found: one `Outcome` per case, one `Finding` per report. Plain data, no rendering."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from flashlearn.exercise import Case
    from flashlearn.observe.observation import Observation


class Status(enum.Enum):
    """The verdict of one case, and of a whole check: the first that applies."""

    TODO = "not started"
    CRASHED = "crashed"
    TIMEOUT = "out of time"
    OUT_OF_BOUNDS = "out of bounds"
    RACE = "race"
    WRONG = "wrong"
    NOT_YOURS = "not computed by your kernel"
    NEEDS_GPU = "needs a GPU"
    PASS = "passed"


@dataclass(frozen=True)
class Place:
    """A line of the learner's code, and the program that was running it if there was one."""

    file: str
    line: int
    text: str
    function: str = ""
    program: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Caution:
    """What would fail, or go less well, on a GPU though it passes here: its kind, a sentence, the line."""

    kind: str
    sentence: str
    place: Place | None = None

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class OutputCheck:
    """One output against the reference.

    `error` and `allowed` are in the output's own units; `got` and `expected` are on the CPU,
    `expected` in fp64. `problem` is a sentence where the two cannot even be compared (shape, dtype,
    missing, never written). `writers[i]` is the flat id of the program that stored element i, −1 if none.
    """

    name: str
    ok: bool
    error: float = float("nan")
    allowed: float = float("nan")
    rms_ratio: float = float("nan")
    problem: str = ""
    got: torch.Tensor | Any = None
    expected: torch.Tensor | Any = None
    writers: torch.Tensor | None = None


@dataclass(frozen=True)
class Outcome:
    """What happened in one case. `message` is one sentence; `detail` may show code or numbers.

    `fault` describes an out-of-bounds access, (kind, whether it had a mask, first offending index), a race,
    ("race", the two accesses' kinds, which of the two programs had read the element, whose memory it is), or
    what a launcher did, ("changed input",).
    """

    case: Case
    status: Status
    message: str = ""
    detail: str = ""
    place: Place | None = None
    outputs: tuple[OutputCheck, ...] = ()
    observation: Observation | None = None
    warnings: tuple[Caution, ...] = ()
    seconds: float = 0.0
    mode: str = "observed"
    fault: tuple = ()


@dataclass(frozen=True)
class Finding:
    """The diagnosis: which mistake (or rule) it is, said in a sentence, and what to do next.

    Two at once are written "one + other" in `mistake`. `fits` of `of` cases that are wrong are explained.
    """

    mistake: str
    sentence: str
    next_step: str = ""
    place: Place | None = None
    fits: int = 0
    of: int = 0
    evidence: dict[str, Any] = field(default_factory=dict)
