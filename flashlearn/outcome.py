"""What a check found: one `Outcome` per case, one `Finding` per report. Plain data, no rendering."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from flashlearn.observation import Caution, Launch, Observation, Place
from flashlearn.verdicts import Status

if TYPE_CHECKING:
    import torch

    from flashlearn.exercise import Case


@dataclass(frozen=True)
class Misfit:
    """Why an output cannot be compared: what was found, and what is expected.

    `what` does not fit: "nothing" (None came back), "type", "layout", "shape" or "dtype". `got` and
    `expected` are shapes or dtypes, else `got` is a word for the value.
    """

    what: str
    got: str | tuple[int, ...]
    expected: str | tuple[int, ...]


@dataclass(frozen=True)
class OutputCheck:
    """One output against the reference.

    `error` and `allowed` are in the output's own units; `got` and `expected` are on the CPU,
    `expected` in fp64. `problem` is a sentence where the two cannot even be compared, and `misfit` says
    the same as data; problems with the same `like` differ only in figures. `writers[i]` is the flat id of
    the program that stored element i, −1 if none.
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
    misfit: Misfit | None = None
    like: tuple = ()

    @functools.cached_property
    def sample(self) -> torch.Tensor:
        """Flat indices of a few elements of `got`, the most wrong among them: enough to compare at first."""
        count = self.got.numel()
        chosen = [i * (count - 1) // 3 for i in range(4)] if count else []
        if count and self.got.shape == self.expected.shape:
            wrong = (self.got.double() - self.expected.double()).abs().flatten()
            chosen.append(int(wrong.nan_to_num(-1.0, -1.0, -1.0).argmax()))
        return self.got.new_tensor(sorted(set(chosen)), dtype=int)

    @functools.cached_property
    def largest_finite_error(self) -> float:
        """Largest finite distance of an element of `got` from what is expected."""
        if math.isfinite(self.error):
            return self.error
        if self.problem or self.got.shape != self.expected.shape:
            return 0.0
        apart = (self.got.double() - self.expected.double()).abs().nan_to_num(0.0, 0.0, 0.0)
        return float(apart.max()) if apart.numel() else 0.0

    @functools.cached_property
    def largest(self) -> float:
        """Largest finite size of an element of `got`."""
        sizes = self.got.double().abs().nan_to_num(0.0, 0.0, 0.0)
        return float(sizes.max()) if sizes.numel() else 0.0


@dataclass(frozen=True)
class Outcome:
    """What happened in one case. `message` is one sentence; `detail` may show code or numbers.

    `fault` describes an out-of-bounds access, (kind, whether it had a mask, first offending index),
    followed by "gaps" where that index lies between the tensor's elements, "steps" with the tile's and the
    tensor's strides where these differ, "exchanged" where two strides or indices are, "below", "size" or
    "far" by how far outside it is, a race, ("race", the two accesses' kinds, which of the two programs had
    read the element, whose memory it is), a crash, ("crash", the exception's type, its text), a stub,
    ("todo", whose, what there is to write), or what a launcher did, ("launcher", what it returned instead),
    ("changed input", its name) or ("returned input", the output, the input). `compiled_launches` are those
    of a compiled case; an observed one has them in its `observation`. Outcomes without outputs that have
    the same `like` have sentences that differ only in figures.
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
    compiled_launches: tuple[Launch, ...] = ()
    like: tuple = ()

    @property
    def launches(self) -> Sequence[Launch]:
        """What the launcher launched, observed or compiled; empty if it did not get that far."""
        return self.observation.launches if self.observation is not None else self.compiled_launches


class Wording(NamedTuple):
    """What a learner reads: what happened, and what to look at or do next.

    `quotes` is what a case has already said itself, where the sentence repeats it: the case by its name, or
    an output and its misfit. `more` is what the sentence adds to that; None where it says the same in words
    of its own, and may replace both.
    """

    sentence: str
    next_step: str = ""
    quotes: str | tuple[str, Misfit] = ""
    more: str | None = ""


class FindingKind:
    """One kind of finding. Subclasses are frozen dataclasses: their fields are the facts of one finding.

    All of them are in flashlearn/explaining/findings. The class attributes below are traits, on which the
    search for the mistake and the report decide; each is False, or empty, unless a subclass says otherwise.
    """

    name: ClassVar[str]
    """The name of the kind, and of its findings unless `names` says otherwise."""

    called: tuple[str, ...] = ()
    """The names of the mistakes, where they are not the kind's own: a mistake may show in several ways."""

    parts: tuple[Finding, ...] = ()
    """The findings that this one combines."""

    conclusive: bool = False
    """It says what was done, and not only what came of it: no edit is looked for that would say more."""

    vague: ClassVar[bool] = False
    """It says where to look, by what the wrong elements have in common."""

    locates: ClassVar[bool] = False
    """It says where to look: an edit that makes everything right replaces it."""

    follows: ClassVar[bool] = False
    """An edit that may be reported after a finding that says what came of the mistake."""

    observed: ClassVar[bool] = False
    """It says what was seen, which makes results wrong; how wrong they are was not computed from it."""

    hides: ClassVar[bool] = False
    """While it is so, the numbers cannot show what else is wrong."""

    about_form: ClassVar[bool] = False
    """It is about outputs that cannot be compared with what is expected."""

    about_input: ClassVar[bool] = False
    """Its sentence is about an input, and does not name the output."""

    illustrations: ClassVar[tuple[str, ...]] = ()
    """Fields that illustrate: findings that differ in nothing else say the same."""

    memory_fault: ClassVar[bool] = False
    """An access out of bounds, or two that race, without the index that is wrong."""

    misplaced: ClassVar[str] = ""
    """Accesses that go to a wrong place, or do not reach far enough: "all", "stores" or "loads"."""

    knows_lines: ClassVar[bool] = False
    """It names the lines itself: where the values depart first says nothing more."""

    beyond_cases: ClassVar[bool] = False
    """Every case passes: something else about the answer is wrong, or could not be decided."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the mistakes that it is about, each once."""
        if self.called or not self.parts:
            return self.called or (self.name,)
        return tuple(dict.fromkeys(name for part in self.parts for name in part.names))

    @property
    def facts(self) -> dict[str, Any]:
        """The facts by name."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in NO_FACTS}

    def wording(self) -> Wording:
        """The sentence and the next step."""
        raise NotImplementedError


NO_FACTS = ("parts", "called", "tried")
"""Fields of kinds that are no facts: findings have them by these names."""


@dataclass(frozen=True)
class Finding:
    """The diagnosis: its kind with what is known of this one, and where it shows.

    `fits` of `of` wrong cases are explained; it is `partial` if it leaves something open and says so.
    """

    kind: FindingKind
    place: Place | None = None
    fits: int = 0
    of: int = 0
    partial: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the mistakes that it is about, each once."""
        return self.kind.names

    @property
    def mistake(self) -> str:
        """The mistake's name; two at once are written "one + other"."""
        return " + ".join(self.names)

    @property
    def parts(self) -> tuple[Finding, ...]:
        """The findings that it combines."""
        return self.kind.parts

    @property
    def facts(self) -> dict[str, Any]:
        """What is known, by name."""
        return self.kind.facts

    @property
    def conclusive(self) -> bool:
        """True if the mistake is named, and nothing is left open."""
        return self.kind.conclusive and not self.partial

    @property
    def wording(self) -> Wording:
        """Its sentence and its next step, as the learner reads them."""
        return self.kind.wording()

    @property
    def sentence(self) -> str:
        """What happened."""
        return self.wording.sentence

    @property
    def next_step(self) -> str:
        """What to look at, or to do; empty where there is nothing to add."""
        return self.wording.next_step
