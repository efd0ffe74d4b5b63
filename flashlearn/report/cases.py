"""The table of cases: its rows, and which of them are shown at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from flashlearn.exercise import Kind
from flashlearn.outcome import Outcome, OutputCheck, Status
from flashlearn.report.case_strip import Dot, dot_of, short_name, summary_of, tone_of
from flashlearn.report.data import CheckResult
from flashlearn.report.units import dtype_name, number, plural, sizes_of, times_the_limit
from flashlearn.report.verdict import FAILURE_GLYPH, GLYPHS

MAX_UNFOLDED = 6  # rows: more are folded
MAX_OUTPUT_WIDTH = 40  # characters
CLOSEST = 3  # passing cases shown when there are many: those closest to what is allowed
DECADES = 3  # the bar reaches from 10^-3 to 10^3 times what is allowed


@dataclass(frozen=True)
class CaseRow:
    """One case, or one output of a failing case that has several.

    `fill` is the length of the error's bar on a log scale, 0.5 where the error is what is allowed. Without
    figures there is one row for all of a case's outputs, and marks say which of them are wrong.
    """

    tone: str
    glyph: str
    word: str
    case: str
    sizes: str
    dtype: str
    output: str
    error: str
    allowed: str
    fill: float | None
    ratio: str
    note: str


@dataclass(frozen=True)
class CaseTable:
    """A dot for each case; rows to show and rows to fold; which columns have any content."""

    strip: tuple[Dot, ...]
    summary: str
    shown: tuple[CaseRow, ...]
    folded: tuple[CaseRow, ...]
    fold_title: str
    sizes: bool
    numbers: bool
    outputs: bool

    @property
    def output_width(self) -> int:
        """Characters that the column of outputs needs."""
        outputs = [row.output for row in (*self.shown, *self.folded)]
        return min(max(map(len, outputs), default=0), MAX_OUTPUT_WIDTH)


def case_table(result: CheckResult) -> CaseTable | None:
    """The rows of the report's table; None while nothing has run."""
    if result.status is Status.TODO or not result.outcomes:
        return None
    mentioned = _mentioned_above(result)
    outcomes = result.case_outcomes
    several = any(len(outcome.outputs) > 1 for outcome in outcomes)
    shown, folded = _sift(outcomes)
    if not shown and not folded:
        return None
    figures = result.exercise.judged.says is None  # else a case says what it found, and errors mean nothing
    rows = [tuple(row for o in group for row in _rows(result, o, mentioned)) for group in (shown, folded)]
    if not figures:
        rows = [tuple(replace(row, error="", allowed="", fill=None, ratio="") for row in g) for g in rows]
    every = rows[0] + rows[1]
    if len(every) == 1 and not every[0].error and not every[0].note:
        return None  # a single case without figures: the headline is enough
    return CaseTable(
        strip=tuple(dot_of(outcome) for outcome in outcomes),
        summary=summary_of(outcomes),
        shown=rows[0],
        folded=rows[1],
        fold_title=_fold_title(folded),
        sizes=figures and result.exercise.kind is not Kind.SYMBOLIC,
        numbers=any(row.error for row in rows[0]),
        outputs=several and any(row.output for row in rows[0]),
    )


def ratio_of(check: OutputCheck) -> float:
    """Error over allowed; infinite where they cannot be compared, so that it sorts as the worst."""
    if math.isnan(check.error) or math.isnan(check.allowed):
        return 0.0 if check.ok else math.inf
    if check.allowed == 0:
        return 0.0 if check.error == 0 else math.inf
    return check.error / check.allowed


def _sift(outcomes: tuple[Outcome, ...]) -> tuple[list[Outcome], list[Outcome]]:
    """Failing cases first; of many passing ones only those closest to what is allowed."""
    if len(outcomes) <= MAX_UNFOLDED:
        return list(outcomes), []
    failing = [o for o in outcomes if o.status not in (Status.PASS, Status.NEEDS_GPU)]
    passing = [o for o in outcomes if o.status is Status.PASS]
    waiting = [o for o in outcomes if o.status is Status.NEEDS_GPU]
    if failing:
        return failing[:MAX_UNFOLDED], failing[MAX_UNFOLDED:] + passing + waiting
    closest = sorted(passing, key=lambda o: -max(map(ratio_of, o.outputs), default=0.0))[:CLOSEST]
    shown = {id(o) for o in closest}  # by identity: outcomes hold tensors, which == does not compare
    return closest, [o for o in passing if id(o) not in shown] + waiting


def _fold_title(folded: list[Outcome]) -> str:
    passed = sum(o.status is Status.PASS for o in folded)
    waiting = sum(o.status is Status.NEEDS_GPU for o in folded)
    failed = len(folded) - passed - waiting
    parts = [plural(failed, "more case") + (" fails" if failed == 1 else " fail")] if failed else []
    if passed:
        parts.append(
            f"{plural(passed, 'more case' if not failed else 'case')} pass{'es' if passed == 1 else ''}"
        )
    if waiting:
        parts.append(f"{plural(waiting, 'case')} need{'s' if waiting == 1 else ''} a GPU")
    return ", ".join(parts)


def _rows(result: CheckResult, outcome: Outcome, mentioned: set[tuple]) -> list[CaseRow]:
    checks = list(outcome.outputs)
    compiled = result.mode == "compiled" and outcome.mode == "compiled"  # the same case ran observed before
    name = f"{outcome.case.name}, compiled" if compiled else outcome.case.name
    if not checks:
        return [_row(outcome, None, mentioned, name)]
    measured = any(_measured(check) for check in checks)
    if outcome.status is Status.PASS and measured:
        checks = [max(checks, key=ratio_of)]
    rows = [_row(outcome, c, mentioned, name if i == 0 else "") for i, c in enumerate(checks)]
    if measured or len(checks) == 1:
        return rows
    marks = [f"{'✓' if c.ok else '✗'}\N{NO-BREAK SPACE}{c.name}" for c in checks]
    notes = " ".join(row.note for row in rows if row.note)
    return [replace(rows[0], output="  ".join(marks), note=notes)]


def _row(outcome: Outcome, check: OutputCheck | None, mentioned: set[tuple], name: str) -> CaseRow:
    """The row of a case, or with an empty name one more row of the same case."""
    status, first = outcome.status, bool(name)
    comparable = check is not None and _measured(check)
    ratio = ratio_of(check) if comparable else None
    return CaseRow(
        tone=tone_of(status),
        glyph=GLYPHS.get(status, FAILURE_GLYPH) if first else "",
        word=short_name(status) if first else "",
        case=name,
        sizes=sizes_of(outcome.case) if first else "",
        dtype=dtype_name(outcome.case.dtype) if first else "",
        output=check.name if check is not None else "",
        error=_size(check.error) if comparable else "",
        allowed=number(check.allowed) if comparable else "",
        fill=None if ratio is None else _fill(ratio),
        ratio="" if ratio is None else "" if math.isinf(ratio) else number(ratio),
        note=_note(outcome, check, mentioned),
    )


def _measured(check: OutputCheck) -> bool:
    return not check.problem and not math.isnan(check.allowed)


def _size(error: float) -> str:
    return number(error) if math.isfinite(error) else "not finite"


def _note(outcome: Outcome, check: OutputCheck | None, mentioned: set[tuple]) -> str:
    if check is not None and check.problem:
        return _first_mention(check.problem, check.like or (check.name, check.problem), mentioned)
    if check is not None and not check.ok and check.error <= check.allowed and check.rms_ratio > 1:
        return (
            f"its root mean square error is {times_the_limit(check.rms_ratio)} for values kept in fp32 on "
            "the way"
        )
    return _first_mention(outcome.message, _topic(outcome), mentioned) if check is None else ""


def _first_mention(sentence: str, topic: tuple, mentioned: set[tuple]) -> str:
    """The sentence where its topic is mentioned for the first time, else nothing."""
    if topic in mentioned:
        return ""
    mentioned.add(topic)
    return sentence


def _mentioned_above(result: CheckResult) -> set[tuple]:
    """The topics of the cases that the headline is about, and of those that it quotes."""
    quoted = result.finding.wording.quotes if result.finding is not None else ""
    candidates = [o for o in (result.principal, *result.outcomes) if o is not None]
    chosen = [o for i, o in enumerate(candidates) if i == 0 or o.case.name == quoted]
    return {topic for outcome in chosen for topic in _mentions(result, outcome)}


def _mentions(result: CheckResult, outcome: Outcome) -> list[tuple]:
    """The topics of an outcome's own sentence that a row might repeat."""
    if not outcome.outputs:
        return [_topic(outcome)]
    if result.exercise.kind is Kind.SYMBOLIC:  # with several outputs it names one, and rows do not
        return [check.like for check in outcome.outputs if check.problem and len(outcome.outputs) == 1]
    wrong = next((check for check in outcome.outputs if not check.ok), None)
    unusable = wrong is not None and wrong.problem and not outcome.fault and outcome.mode == "observed"
    return [wrong.like] if unusable and result.exercise.judged.says is None else []


def _topic(outcome: Outcome) -> tuple:
    """Equal for outcomes whose sentences differ in figures alone."""
    return outcome.like or (outcome.status, outcome.case.name)


def _fill(ratio: float) -> float:
    if ratio <= 0:
        return 0.0
    return min(max((math.log10(min(ratio, 1e30)) + DECADES) / (2 * DECADES), 0.02), 1.0)
