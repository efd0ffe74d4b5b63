"""What is still wrong once a mistake is repaired, where a run has shown that the repair is one.

Two repairs are certain: an edit of the text with which some of the failing cases pass, and none of those that
passed fails; and another dtype of an output. With them the answer is run again, and what is wrong then is
explained in the same way. Where that finds nothing sure, the first mistake is named, with what it explains.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from flashlearn.explaining.edits.avoidance import stays_inside_alone
from flashlearn.explaining.edits.dtypes import DTYPE
from flashlearn.explaining.edits.naturalness import Naturalness, naturalness
from flashlearn.explaining.edits.returned_forms import FIXED_SIZE, RETURNED_DTYPE
from flashlearn.explaining.edits.rounding import ROUND_UP
from flashlearn.explaining.edits.search import PartialRepair, edit_finding
from flashlearn.explaining.edits.second_mistake import is_finite
from flashlearn.explaining.edits.trial import cost
from flashlearn.explaining.edits.verification import STOPPED, wasteful
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.edits import AndOneEdit, EditAndMistake, OneEdit, TwoEdits
from flashlearn.explaining.findings.nan_origin import NanOrigin
from flashlearn.explaining.findings.never_read import NeverRead
from flashlearn.explaining.findings.not_finite import NotFinite
from flashlearn.explaining.findings.rule import Clue, Rule, listed_words
from flashlearn.explaining.findings.shape import Shape
from flashlearn.explaining.findings.two_mistakes import AfterRepair, AtOnce, ByPrecision, PartlyWritten
from flashlearn.explaining.repaired import Repaired, wanted_dtypes
from flashlearn.explaining.stage import Search
from flashlearn.judging.cases import run_observed
from flashlearn.outcome import Finding, Outcome, Status

MOST_REPAIRS = 2
"""Repairs of which the whole effect is looked at."""

MOST_WORK = 800.0
"""No answer is run again if its failing cases take more accesses to memory than this."""

ROUNDINGS = 32
"""Errors of so many roundings to fp32 of the largest number are no second mistake where fp64 is asked for."""

ALL_WORK = 2 * MOST_WORK
"""All repairs together may take this."""

MIN_SHARE = 0.2
"""An edit that repairs less than this share of the failing cases is not reported, unless an access failed."""

SEVERAL = (AtOnce, PartlyWritten, ByPrecision, TwoEdits, EditAndMistake)
"""Two mistakes in a copy in which a first one is fixed are more than can be told."""

Explain = Callable[[Search, bool], Finding | None]
"""It names what is wrong; with True it may take as long as for an answer that is seen for the first time."""


def look_again(search: Search, explain: Explain) -> Finding | None:
    """The finding that a repair makes some cases pass, with what `explain` says of the others."""
    if search.answer is None or _explains_everything(search):
        return None
    found = _after_conversion(search, explain)
    return found if found is not None else _after_edit(search, explain)


def _explains_everything(search: Search) -> bool:
    finding = search.finding
    if finding is None or finding.partial or finding.fits < finding.of:
        return False
    kind = finding.kind
    if kind.locates or kind.memory_fault or kind.observed:
        return False
    return (
        kind.follows
        or (finding.conclusive and not isinstance(kind, Shape))
        or (not finding.conclusive and finding.fits > 0)
    )


def _failing(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [o for o in outcomes if o.status is not Status.PASS]


def _after_conversion(search: Search, explain: Explain) -> Finding | None:
    """An output of a wrong dtype, and what is wrong with its numbers."""
    dtypes = wanted_dtypes(search.outcomes)
    if not dtypes or not _affordable(search.outcomes):
        return None
    failing = _failing(search.outcomes)
    if any(o.status is Status.CRASHED for o in failing):
        return None  # the report is about the crash
    after = _run_again(search, Repaired(search.answer, dtypes=dtypes), search.outcomes)
    first = _misfit(search, failing)
    left = _failing(after)
    if first is None:
        return None
    if all(_is_rounded_as(search.outcomes, outcome) for outcome in left):  # the dtype is all that is wrong
        return Finding(replace(first.kind, alone=True), fits=len(failing), of=len(failing))
    again = replace(
        search, outcomes=after, answer=Repaired(search.answer, dtypes=dtypes), finding=None, repairs=[]
    )
    second = explain(again, True)
    if second is not None and _changes_dtype(second):  # one mistake: it rounds, too
        if len(left) < len(failing):
            return _combined(search, first, after, None)
        return Finding(AndOneEdit((first, second)), second.place, len(failing), len(failing))
    return _combined(search, first, after, second)


def _is_rounded_as(before: Sequence[Outcome], converted: Outcome) -> bool:
    """Whether a converted case is wrong only as far as numbers of the learner's own dtype are rounded."""
    own = next((o for o in before if o.case is converted.case), None)
    given = {check.name: check.got.dtype for check in own.outputs} if own is not None else {}
    return bool(given) and all(
        check.ok
        or (
            given[check.name] is torch.float32
            and check.error <= ROUNDINGS * torch.finfo(torch.float32).eps * float(check.expected.abs().max())
        )
        for check in converted.outputs
    )


def _changes_dtype(finding: Finding) -> bool:
    """True if one of its edits gives memory another dtype."""
    kind = finding.kind
    if isinstance(kind, OneEdit):
        return kind.edit_kind in (DTYPE, RETURNED_DTYPE)
    return any(map(_changes_dtype, finding.parts))


def _misfit(search: Search, failing: Sequence[Outcome]) -> Finding | None:
    for outcome in failing:
        for check in outcome.outputs:
            if check.misfit is not None and check.misfit.what == "dtype":
                return Finding(Shape.look(Clue(search.exercise, outcome, check)))
    return None


def _after_edit(search: Search, explain: Explain) -> Finding | None:
    """An edit with which some failing cases pass, and what is wrong with the others."""
    if not search.repairs or not _affordable(_failing(search.outcomes)):
        return None
    partial = [one for one in search.repairs if not one.echoes]
    echoing = [one for one in search.repairs if one.echoes]
    chosen = sorted(partial, key=lambda one: -one.reached)[:MOST_REPAIRS]
    for repair in (*chosen, *echoing[:MOST_REPAIRS])[: _affordable_repairs(search.outcomes)]:
        found = _after_one(search, repair, explain)
        if found is not None:
            return found
    return None


def _affordable_repairs(outcomes: Sequence[Outcome]) -> int:
    """How many repairs may be looked at, each of which runs the failing cases again, and others."""
    each = min(MOST_WORK, sum(map(cost, outcomes)))
    return max(1, int(ALL_WORK / max(each, 1)))


def _after_one(search: Search, repair: PartialRepair, explain: Explain) -> Finding | None:
    section = search.answer.sections()[repair.section]
    text = repair.edit.applied(section.text)
    if text.count("\n") != section.text.count("\n"):
        return None  # the lines would have other numbers
    if naturalness(section.text, repair.edit) is not Naturalness.NATURAL or stays_inside_alone(repair.edit):
        return None  # it may merely compensate for another line
    if repair.edit.kind is FIXED_SIZE:
        return None  # a larger tile may avoid a mistake in the loop
    if repair.echoes and repair.edit.kind is ROUND_UP:
        return None  # a loop that goes too far takes in the padding, which is a known mistake
    repaired, failing = Repaired(search.answer, ((repair.section, text),)), _failing(search.outcomes)
    right = _cheapest(
        [o for o in search.outcomes if o.status is Status.PASS and o.mode == "observed"], failing
    )
    after = _run_again(search, repaired, (*failing, *right))
    passing = [o for o in after[: len(failing)] if o.status is Status.PASS]
    if _failing(after[len(failing) :]) or any(o.status is not Status.WRONG for o in _failing(after)):
        return None
    if any(_spoils(one, new) for one, new in zip(failing, after, strict=False)):
        return None
    stopped = any(o.status in STOPPED for o in failing)
    if any(wasteful(one, cost(new)) for one, new in zip(right, after[len(failing) :], strict=True)):
        return None  # it repairs by work that is not needed
    if (
        not repair.outputs
        and not repair.echoes
        and len(passing) < (1 if stopped else _enough(repair, failing))
    ):
        return None
    first = edit_finding(passing, section, repair.edit, listed_words(repair.outputs))
    again = replace(search, outcomes=after, answer=repaired, finding=None, repairs=[])
    second = explain(again, False)
    if repair.echoes and not _names_all(second):
        return None  # it may merely have led to the numbers of the first case
    found = _combined(search, first, after, second)
    alone = len(found.kind.parts) == 1
    lucky = repair.edit.kind.mixes_names and not repair.outputs and 2 * len(passing) < len(failing)
    if alone and (lucky or (repair.outputs and stopped)):
        return None  # a name is soon right in a few cases, and an output once no access fails
    if alone and not repair.outputs and not stopped and len(passing) == 1:
        return None  # one case is soon right
    if repair.edit.kind.by_chance and not repair.outputs and 2 * len(passing) <= len(failing):
        return None  # another operation may lead to the numbers of a known mistake
    if not alone and repair.edit.kind.mixes_names and _is_seen_still(search.finding, found.parts[1]):
        return None  # another name may only avoid in some cases what is still seen in the others
    few = not repair.outputs and 2 * len(passing) < len(failing)
    seen = not alone and isinstance(found.parts[1].kind, NeverRead if stopped else Rule)
    if few and seen:
        return None  # what is seen in the others may be what the edit has done
    return found


def _enough(repair: PartialRepair, failing: Sequence[Outcome]) -> float:
    """How many failing cases must pass. Of two, one is enough, unless the edit is soon right."""
    if len(failing) == 2 and not repair.edit.kind.by_chance and not repair.edit.kind.mixes_names:
        return 1
    return max(2, MIN_SHARE * len(failing))


def _is_seen_still(before: Finding | None, after: Finding) -> bool:
    """Whether what was observed of the answer is of the kind that is observed of a copy with an edit, too."""
    return before is not None and before.kind.observed and type(before.kind) is type(after.kind)


def _spoils(before: Outcome, after: Outcome) -> bool:
    """Whether an output that was right has become wrong, or one that was finite NaN or infinite."""
    pairs = list(zip(before.outputs, after.outputs, strict=False))
    return any((old.ok and not new.ok) or (is_finite(old) and not is_finite(new)) for old, new in pairs)


def _names_all(finding: Finding | None) -> bool:
    """Whether a mistake is named whose numbers are those of every case."""
    if finding is None or finding.partial or not 1 < finding.of == finding.fits:
        return False
    kind = finding.kind
    return not (kind.locates or kind.vague or kind.observed or kind.hides)


def _combined(search: Search, first: Finding, after: Sequence[Outcome], second: Finding | None) -> Finding:
    """The first mistake, and the second one if there is a sure name for it."""
    failing = len(_failing(search.outcomes))
    passed = failing - len(_failing(after))
    repaired = {o.case.name for o in after if o.status is Status.PASS}
    shows = next((o.case.name for o in _failing(search.outcomes) if o.case.name in repaired), "")
    sure = second is not None and (second.fits or second.conclusive)
    sure = sure and not (about_nan(second) and _all_finite(search.outcomes, after))
    if not sure or second.kind.locates or second.kind.vague or isinstance(second.kind, SEVERAL):
        left = {check.name for o in _failing(after) for check in o.outputs if not check.ok}
        still = tuple(name for name in search.exercise.outputs if name in left)
        kind = AfterRepair(passed, failing, passed, (first,), still, shows)
        return Finding(kind, first.place, passed, failing, partial=True)
    fitting = 0 if second.kind.observed else second.fits
    whole = not second.partial and failing - passed <= fitting == second.of
    explained = failing if whole else min(passed + fitting, failing)
    kind = AfterRepair(passed, failing, explained, (first, second), case=shows)
    return Finding(kind, first.place or second.place, explained, failing, explained < failing)


def about_nan(finding: Finding) -> bool:
    """True for a finding that explains NaN or infinities, and nothing besides."""
    kind = finding.kind
    return (
        isinstance(kind, NanOrigin | NotFinite)
        or (isinstance(kind, Declared) and kind.only_nan)
        or any(map(about_nan, finding.parts))
    )


def _all_finite(before: Sequence[Outcome], after: Sequence[Outcome]) -> bool:
    """Whether the answer itself has no NaN in the cases that fail in the copy: the repair may make them."""
    left = {o.case.name for o in _failing(after)}
    checks = [c for o in before if o.case.name in left and o.status is Status.WRONG for c in o.outputs]
    return all(isinstance(c.got, torch.Tensor) and bool(torch.isfinite(c.got).all()) for c in checks)


def _affordable(outcomes: Sequence[Outcome]) -> bool:
    return sum(map(cost, outcomes)) <= MOST_WORK


def _cheapest(right: Sequence[Outcome], failing: Sequence[Outcome]) -> list[Outcome]:
    """The cases that pass, or as many of the smallest as can be run again besides those that fail."""
    left, chosen = MOST_WORK - sum(map(cost, failing)), []
    for outcome in sorted(right, key=cost):
        left -= cost(outcome)
        if left < 0:
            break
        chosen.append(outcome)
    return chosen


def _run_again(search: Search, repaired: Repaired, outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [run_observed(search.exercise, repaired, outcome.case) for outcome in outcomes]
