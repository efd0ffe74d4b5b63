"""The cases as a strip of dots: what passes and what does not, at a glance."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.outcome import Outcome, Status
from flashlearn.report.units import plural

SHORT_NAMES = {Status.NOT_YOURS: "not yours"}  # shorter than the verdict, for a narrow column


@dataclass(frozen=True)
class Dot:
    """A case in the strip: its name and verdict are under the mouse."""

    tone: str
    glyph: str
    title: str


def dot_of(outcome: Outcome) -> Dot:
    """A case's dot."""
    tone = tone_of(outcome.status)
    glyph = {"pass": "●", "calm": "◇"}.get(tone, "✖")
    return Dot(tone, glyph, f"{outcome.case.name}: {short_name(outcome.status)}")


def tone_of(status: Status) -> str:
    """pass, fail, or calm where it needs a GPU."""
    if status is Status.PASS:
        return "pass"
    return "calm" if status in (Status.NEEDS_GPU, Status.UNDECIDED) else "fail"


def short_name(status: Status) -> str:
    """A case's verdict, for a narrow column."""
    return SHORT_NAMES.get(status, status.value)


def summary_of(outcomes: tuple[Outcome, ...]) -> str:
    """How many pass."""
    passed = sum(o.status is Status.PASS for o in outcomes)
    return f"{passed} of {plural(len(outcomes), 'case')} pass{'es' if passed == 1 else ''}"
