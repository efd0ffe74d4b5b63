"""What a report says, decided once for text and HTML: what comes first, and what is folded beneath it.

Everything here is strings and small tuples, so that the two renderings cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashlearn.exercise import Kind
from flashlearn.outcome import Caution, Status
from flashlearn.report.evidence import in_full, support, two_voices
from flashlearn.report.highlight import pride
from flashlearn.report.source import Where, where
from flashlearn.report.units import duration, plural
from flashlearn.report.verdict_sentences import CALM, GLYPHS, next_step, principal, ran, sentence_of

if TYPE_CHECKING:
    from flashlearn.report import Report

HINT_STEPS = ("the concept", "the shape of the answer", "the line")
AROUND = 1  # lines of source before and after the marked one: the card is to stay on the screen


@dataclass(frozen=True)
class HintOffer:
    """The call that gives the next hint, and how many are left."""

    call: str
    words: str


@dataclass(frozen=True)
class Note:
    """A caution that does not change the verdict, with the line it speaks of."""

    sentence: str
    where: Where | None


@dataclass(frozen=True)
class Headline:
    """What comes first: the verdict, one sentence, the marked line, what is next.

    `tone` is pass, fail or calm; `figure` is what one may be proud of after a pass.
    """

    tone: str
    glyph: str
    word: str
    exercise: str
    title: str
    lesson: str
    sentence: str
    figure: str
    signature: str
    where: Where | None
    next_step: str
    hint: HintOffer | None
    demo: bool
    footer: str
    stale: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Grounds:
    """What stands behind the sentence: what was seen, where, how well it fits, and what was said in full."""

    seen: str
    support: str
    detail: str

    def __bool__(self) -> bool:
        return bool(self.seen or self.support or self.detail)


def headline(report: Report) -> Headline:
    """What a learner needs."""
    status, outcome, exercise = report.status, principal(report), report.exercise
    tone = _tone(status)
    failing = tone == "fail"
    finding = report.finding if failing else None
    place = (finding.place if finding else None) or (outcome.place if outcome and failing else None)
    return Headline(
        tone=tone,
        glyph=GLYPHS.get(status, "✗"),
        word=status.value[:1].upper() + status.value[1:],
        exercise=exercise.name,
        title=exercise.title,
        lesson=exercise.lesson,
        sentence=two_voices(finding, outcome)[0] if finding is not None else sentence_of(report),
        figure=pride(report),
        signature=f"{exercise.name}{exercise.signature}" if status is Status.TODO else "",
        where=where(place, AROUND) if place else None,
        next_step=next_step(report),
        hint=_hint(report) if failing or status is Status.TODO else None,
        demo=report.demo,
        footer=_footer(report),
        stale=report.stale,
        notes=report.notes,
    )


def evidence(report: Report) -> Grounds:
    """What stands behind the sentence of a verdict that is no pass."""
    outcome, failing = principal(report), _tone(report.status) == "fail"
    finding, seen = (report.finding if failing else None), ""
    if finding is not None:
        seen = two_voices(finding, outcome)[1]
    if finding is not None and (
        report.exercise.judged.says is not None or finding.names[0] == "never written"
    ):
        seen = ""  # the finding has said it: the case in other words, or what torch.empty held
    message = outcome.message if outcome and failing else ""
    parts = (in_full(message), outcome.detail if outcome else "")
    return Grounds(
        seen=seen,
        support=support(report, outcome) if failing else "",
        detail="\n".join(filter(None, parts)).strip("\n"),
    )


def cautions(report: Report) -> tuple[Note, ...]:
    """One note for each kind of caution and line, whichever case saw it first."""
    found: dict[tuple, Note] = {}
    for outcome in report.outcomes:
        for said in (*outcome.warnings, *(outcome.observation.warnings if outcome.observation else ())):
            caution = said if isinstance(said, Caution) else Caution("", said)
            place = caution.place
            key = (caution.kind, place.file, place.line) if place else (caution.kind, caution.sentence)
            if key not in found:
                found[key] = Note(caution.sentence, where(place) if place else None)
    return tuple(found.values())


def _tone(status: Status) -> str:
    return "pass" if status is Status.PASS else "calm" if status in CALM else "fail"


def _hint(report: Report) -> HintOffer | None:
    if report.demo:
        return None
    left = len(HINT_STEPS) - report.hints_taken
    call = f'flashlearn.hint("{report.exercise.name}")'
    if left <= 0:
        return HintOffer(call, "all three hints are taken; this says where the solution is")
    words = {3: "three hints left", 2: "two hints left", 1: "one hint left"}[left]
    return HintOffer(call, f"{HINT_STEPS[-left]}; {words}")


def _footer(report: Report) -> str:
    mode = "compiled, on the GPU" if report.mode == "compiled" else "observed, on the CPU"
    if report.exercise.kind is Kind.SYMBOLIC:
        mode = "decided symbolically"
    elif report.exercise.kind is Kind.TORCH and report.mode != "compiled":
        mode = "on the CPU"
    parts = [] if report.status in CALM else [plural(len(ran(report)), "case"), mode]
    return ", ".join(parts) + (f", {duration(report.seconds, 2)}" if parts and report.seconds else "")
