"""What a check found: one `Outcome` per case, one `Finding` per report. Plain data, no rendering."""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from flashlearn.exercise import Case
    from flashlearn.observe.observation import Launch, Observation


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

    @functools.cached_property
    def telling(self) -> torch.Tensor:
        """Flat indices of a few elements of `got`, the most wrong among them: they tell most things apart."""
        count = self.got.numel()
        chosen = [i * (count - 1) // 3 for i in range(4)] if count else []
        if count and self.got.shape == self.expected.shape:
            wrong = (self.got.double() - self.expected.double()).abs().flatten()
            chosen.append(int(wrong.nan_to_num(-1.0, -1.0, -1.0).argmax()))
        return self.got.new_tensor(sorted(set(chosen)), dtype=int)

    @functools.cached_property
    def largest(self) -> float:
        """Largest finite size of an element of `got`."""
        sizes = self.got.double().abs().nan_to_num(0.0, 0.0, 0.0)
        return float(sizes.max()) if sizes.numel() else 0.0


@dataclass(frozen=True)
class Outcome:
    """What happened in one case. `message` is one sentence; `detail` may show code or numbers.

    `fault` describes an out-of-bounds access, (kind, whether it had a mask, first offending index), a race,
    ("race", the two accesses' kinds, which of the two programs had read the element, whose memory it is), or
    what a launcher did, ("changed input",). `launched` are the launches of a compiled case; an observed one
    has them in its `observation`.
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
    launched: tuple[Launch, ...] = ()

    @property
    def launches(self) -> Sequence[Launch]:
        """What the launcher launched, observed or compiled; empty if it did not come so far."""
        return self.observation.launches if self.observation is not None else self.launched


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
