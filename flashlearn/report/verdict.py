"""What comes first in a report: the verdict, one sentence, the marked line, what to do next."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flashlearn.exercise import Kind
from flashlearn.outcome import Outcome, Place, Status
from flashlearn.report.data import CheckResult
from flashlearn.report.evidence import explanation_and_observation
from flashlearn.report.highlight import highlight_of
from flashlearn.report.source import Excerpt, excerpt
from flashlearn.report.units import duration, plural
from flashlearn.report.verdict_sentences import next_step_of, sentence_of

GLYPHS = {Status.PASS: "✓", Status.TODO: "○", Status.NEEDS_GPU: "◇", Status.UNDECIDED: "◇"}
FAILURE_GLYPH = "✗"
CALM = (Status.TODO, Status.NEEDS_GPU, Status.UNDECIDED)
HINT_STEPS = ("the concept", "the shape of the answer", "the line")
CONTEXT = 1  # lines of source before and after the marked one: the card is to stay on the screen


@dataclass(frozen=True)
class HintOffer:
    """The call that gives the next hint, and how many are left."""

    call: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """The verdict, as a learner reads it and as verdict files keep it.

    `tone` is pass, fail or calm; `highlight` is the headline figure of a pass. `sentence` is the finding's
    in full; `headline` is what comes first, without what the evidence repeats. `links` are pairs of a name in
    `next_step` and its address.
    """

    status: Status
    tone: str
    glyph: str
    word: str
    exercise: str
    title: str
    lesson: str
    headline: str
    sentence: str
    highlight: str
    signature: str
    where: Excerpt | None
    next_step: str
    links: tuple[tuple[str, str], ...]
    hint: HintOffer | None
    demo: bool
    footer: str
    stale: str
    notes: tuple[str, ...]
    cases_passed: int
    cases: int
    seconds: float

    @property
    def passed(self) -> bool:
        """True if every case that can run on this machine passed."""
        return self.status is Status.PASS

    @property
    def failing(self) -> bool:
        """True if something is wrong: a stub, a missing GPU or an unfinished review is not."""
        return self.tone == "fail"


def verdict_of(result: CheckResult) -> Verdict:
    """What a learner needs."""
    status, outcome, exercise = result.status, result.principal, result.exercise
    tone = "pass" if status is Status.PASS else "calm" if status in CALM else "fail"
    failing = tone == "fail"
    finding = result.finding if failing else None
    place = (finding.place if finding else None) or (outcome.place if outcome and failing else None)
    sentence = sentence_of(result)
    return Verdict(
        status=status,
        tone=tone,
        glyph=GLYPHS.get(status, FAILURE_GLYPH),
        word=status.value[:1].upper() + status.value[1:],
        exercise=exercise.name,
        title=exercise.title,
        lesson=exercise.lesson,
        headline=sentence if finding is None else explanation_and_observation(finding, outcome)[0],
        sentence=sentence,
        highlight=highlight_of(result),
        signature=f"{exercise.name}{exercise.signature}" if status is Status.TODO else "",
        where=_where(place, outcome) if place else None,
        next_step=next_step_of(result),
        links=result.links if result.passed else (),
        hint=_hint(result) if failing or status is Status.TODO else None,
        demo=result.demo,
        footer=_footer(result),
        stale=result.stale,
        notes=result.notes,
        cases_passed=sum(outcome.status is Status.PASS for outcome in result.outcomes),
        cases=len(result.outcomes),
        seconds=result.seconds,
    )


def _hint(result: CheckResult) -> HintOffer | None:
    if result.demo:
        return None
    left = len(HINT_STEPS) - result.hints_taken
    call = f'flashlearn.hint("{result.exercise.name}")'
    if left <= 0:
        return HintOffer(call, "all three hints used; this says where the solution is")
    count = {3: "three hints left", 2: "two hints left", 1: "one hint left"}[left]
    return HintOffer(call, f"{HINT_STEPS[-left]}; {count}")


def _footer(result: CheckResult) -> str:
    mode = "compiled, on the GPU" if result.mode == "compiled" else "observed, on the CPU"
    if result.exercise.kind is Kind.SYMBOLIC:
        mode = "checked symbolically"
    elif result.exercise.kind is Kind.TORCH and result.mode != "compiled":
        mode = "on the CPU"
    parts = [] if result.status in CALM else [plural(len(result.case_outcomes), "case"), mode]
    return ", ".join(parts) + (f", {duration(result.seconds, 2)}" if parts and result.seconds else "")


def _where(place: Place, outcome: Outcome | None) -> Excerpt:
    """The place; of partitions that wait for ever it is said that one waits there."""
    found = excerpt(place, CONTEXT)
    waits = outcome is not None and outcome.fault[:2] == ("synchronisation", "deadlock")
    if not waits or place != outcome.place:
        return found
    return replace(found, title=f"A partition waits in {found.title[:1].lower()}{found.title[1:]}")
