"""What the stages of the pipeline do with the finding so far, where that takes more than one call.

`by_rules` asks the rules: which of them holds in every wrong case of an output, and what that makes of all
outputs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.declared_in_part import (
    find_declared_in_some_cases,
    find_declared_in_some_outputs,
)
from flashlearn.explaining.declared_mistakes import find_declared, partly_written
from flashlearn.explaining.divergence import first_divergence, in_another_unit, masked_later
from flashlearn.explaining.edits.address_slice import READS, WRITES
from flashlearn.explaining.edits.search import find_edit
from flashlearn.explaining.edits.second_mistake import find_edit_and_mistake
from flashlearn.explaining.faults import from_status
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.edits import AndOneEdit, OneEdit
from flashlearn.explaining.findings.first_divergence import DepartureAndPlace, FirstDivergence, WithItsLine
from flashlearn.explaining.findings.launcher import BY_FAULT, ChangedInput, ReturnedInput, StaleAnswer
from flashlearn.explaining.findings.nan_origin import NanOrigin
from flashlearn.explaining.findings.never_read import NeverRead
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.explaining.findings.precision import RoundedInside
from flashlearn.explaining.findings.rule import SILENT, Clue, Rule
from flashlearn.explaining.findings.shape import Shape
from flashlearn.explaining.findings.two_mistakes import Besides
from flashlearn.explaining.formula_stages import with_edit_of_the_rest
from flashlearn.explaining.matching import comparable, has_wrong_numbers
from flashlearn.explaining.mistake_pairs import FEWEST_CHANGED
from flashlearn.explaining.nan_origins import differ, first_in_formula, nan_origin
from flashlearn.explaining.stage import Search, attempted
from flashlearn.explaining.unused_strides import find_unused_strides
from flashlearn.later import torch
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status

MOSTLY = 0.75
"""The share of the wrong cases that a mistake must explain to be named beside a fault of memory."""

SHARE = 0.7
"""A rule must hold in this share of the wrong cases; in the others it may be unable to tell."""

ACCESSES = {"all": (*READS, *WRITES), "stores": WRITES, "loads": READS}
"""The accesses that go to a wrong place, or not far enough, by `FindingKind.misplaced`; the most come
first."""


def launcher_fault(search: Search) -> Finding | None:
    """What the launcher did, where that alone makes cases wrong."""
    wrong = search.wrong
    for outcome in wrong:
        kind = BY_FAULT.get(outcome.fault[0]) if outcome.fault else None
        untouched = kind is ReturnedInput and all(_is_unwritten(check) for check in outcome.outputs)
        if kind is not None and (untouched or all(check.ok for check in outcome.outputs)):
            alike = next(o for o in wrong if o.fault == outcome.fault)
            return Finding(kind(outcome.message, alike.case.name, search.exercise.kind))
    stale = next((o for o in wrong if o.fault[:1] == (StaleAnswer.name,)), None)
    if stale is not None and len(wrong) == 1:
        return Finding(StaleAnswer(stale.message, stale.case.name, search.exercise.kind))
    return None


def _is_unwritten(check: OutputCheck) -> bool:
    """True if no program stored anything into this output."""
    return check.writers is not None and bool((check.writers < 0).all())


def declared_mistake(search: Search) -> Finding | None:
    """The declared mistake, or the two, that would give just these numbers."""
    pairs = search.pairs and not partly_written(search.outcomes)
    return find_declared(search.exercise, search.outcomes, pairs)


def by_rules(exercise: Exercise, wrong: Sequence[Outcome], rules: Sequence[type[Rule]]) -> Finding | None:
    """What the first of the `rules` that holds says of each wrong output; one that fails is passed over."""
    clues: dict[str, list[Clue]] = {}
    for outcome in wrong:
        for check in outcome.outputs:
            if not check.ok:
                clues.setdefault(check.name, []).append(Clue(exercise, outcome, check))
    first = {name: _first_holding(exercise, rules, seen) for name, seen in clues.items()}
    found = {name: holds for name, holds in first.items() if holds is not None}
    return _of_all_outputs(found, clues) if found else None


class Holding(NamedTuple):
    """A rule that holds of one output, as a finding, and the names of the cases in which it was seen."""

    finding: Finding
    cases: frozenset[str]


def _first_holding(exercise: Exercise, rules: Sequence[type[Rule]], clues: Sequence[Clue]) -> Holding | None:
    for rule in rules:
        found = attempted(exercise, f"rule: {rule.name}", holding, [rule], clues)
        if found is not None:
            return found
    return None


def _of_all_outputs(found: dict[str, Holding], clues: dict[str, list[Clue]]) -> Finding:
    """One finding from those of several outputs; it fits a case if it explains every wrong output there."""
    (first, _), *others = found.values()
    silent = tuple(name for name in clues if name not in found and not _only_nan_beside(name, found, clues))
    if len(clues) == 1:
        return first
    asked = {(clue.outcome.case.name, name) for name, seen in clues.items() for clue in seen}
    explained = {(case, name) for name, holds in found.items() for case in holds.cases}
    open_to = {case for case, _ in asked - explained}
    cases = {case for case, _ in asked}
    decided = cases if silent else {case for case, _ in explained}  # elsewhere no rule could tell
    fits = len(cases - open_to)
    kinds = (first, *(other.finding for other in others))
    return Finding(Outputs(kinds, silent), first.place, fits, max(fits, len(decided)), bool(silent))


def _only_nan_beside(name: str, found: dict[str, Holding], clues: dict[str, list[Clue]]) -> bool:
    """Whether an output is wrong by NaN alone, where one with a finding has NaN too: one cause will do."""
    beside = {clue.outcome.case.name for other in found for clue in clues[other] if clue.got.isnan().any()}
    return all(
        clue.outcome.case.name in beside and bool(clue.got[clue.bad].isnan().all())
        for clue in clues[name]
        if not clue.check.problem
    )


def holding(rules: Sequence[type[Rule]], clues: Sequence[Clue]) -> Holding | None:
    """The first rule that holds in every case of one output."""
    ordered = sorted(
        clues, key=lambda clue: clue.check.got.numel() if hasattr(clue.check.got, "numel") else 0
    )
    for rule in rules:
        holds = _holds(rule, ordered)
        if holds and len(holds) >= (0 if rule.about_form else SHARE) * len(clues):
            kind = rule.agree([clue for clue, _ in holds], [seen for _, seen in holds])
            if kind is not None:
                asked = len(clues) if rule.about_form else len(holds)  # where it can tell, it holds
                cases = frozenset(clue.outcome.case.name for clue, _ in holds)
                return Holding(Finding(kind, fits=len(holds), of=asked), cases)
    return None


def _holds(rule: type[Rule], clues: Sequence[Clue]) -> list[tuple[Clue, Any]]:
    """Where the rule holds; nowhere, if there is a case in which it could tell and does not hold."""
    holds = []
    for clue in clues:
        seen = rule.ask(clue)
        if seen is None and not rule.about_form:
            return []
        if seen is not None and seen is not SILENT:
            holds.append((clue, seen))
    return holds


def other_nan_origin(search: Search) -> Finding | None:
    """The origin of the NaN in place of a declared mistake whose NaN come from another operation.

    Where they come from the same, it is said in which line.
    """
    if not _by_nan_alone(search):
        return None
    found = nan_origin(search.exercise, search.wrong, search.answer)
    if found is None or not isinstance(found.kind, NanOrigin):
        return None
    case = next(o.case for o in search.wrong if o.case.name == found.kind.case)
    mistake = search.exercise.all_mistakes[search.finding.mistake]  # its formula has just given these numbers
    theirs = first_in_formula(mistake.wrong, search.exercise.inputs(case, case.generator()))
    if differ(theirs, found.kind.operation, found.kind.everywhere):
        return found
    if not (theirs and found.kind.first and found.kind.line) or search.finding.place is not None:
        return None
    line = replace(found, kind=replace(found.kind, brief=True))
    return replace(search.finding, kind=WithItsLine((search.finding, line)), place=found.place)


def _by_nan_alone(search: Search) -> bool:
    """Whether no number speaks for a declared mistake of a kernel: many end in the same NaN."""
    declared = (
        search.exercise.all_mistakes.get(search.finding.mistake) if search.finding is not None else None
    )
    if declared is None or declared.wrong is None or search.exercise.kind is not Kind.KERNEL:
        return False
    return not any(has_wrong_numbers(check) for o in search.wrong for check in o.outputs)


def with_first_divergence(search: Search) -> Finding | None:
    """The statement that departs first, beside what has been found."""
    if search.exercise.explained.quantities is None:
        return None
    finding = search.finding
    if finding is not None and (
        finding.place is not None or finding.kind.knows_lines or _about_form(finding)
    ):
        return None
    departed = first_divergence(search.exercise, search.answer, search.outcomes)
    if departed is None or finding is None:
        return departed
    if finding.partial and isinstance(finding.kind, Declared) and in_another_unit(departed):
        return departed  # in some cases its numbers are those of a declared mistake, by chance
    if _is_vague(finding):
        if finding.partial:
            return departed  # what is said of some outputs would be said beside a line that explains others
        return replace(departed, kind=DepartureAndPlace((departed, finding)))
    if masked_later(departed):
        return None  # what the finding says shows at a line that comes later
    if finding.partial and isinstance(departed.kind, FirstDivergence):
        departed = replace(departed, kind=replace(departed.kind, agrees=()))  # it may be right by chance
    return replace(finding, kind=WithItsLine((finding, departed)), place=departed.place)


def _about_form(finding: Finding) -> bool:
    """True for a finding about outputs that cannot be compared, and about nothing else."""
    return all(part.kind.about_form for part in finding.parts or (finding,))


def _is_vague(finding: Finding) -> bool:
    """True if it says of all outputs one and the same: where to look."""
    return len(finding.names) == 1 and all(part.kind.vague for part in finding.parts or (finding,))


def with_edit(search: Search) -> Finding | None:
    """The edit that makes everything right, alone or after what came of the mistake."""
    finding = search.finding
    of_shape = search.exercise.kind is Kind.TORCH and finding is not None and isinstance(finding.kind, Shape)
    rounds_somewhere = isinstance(finding and finding.kind, RoundedInside) and not finding.kind.has_its_line
    if finding is not None and finding.conclusive and not (of_shape or rounds_somewhere):
        return None
    open_outputs = finding is not None and finding.partial and isinstance(finding.kind, Outputs)
    if open_outputs and search.exercise.kind is Kind.TORCH:
        return with_edit_of_the_rest(search)
    nan = finding is not None and isinstance(finding.kind, NanOrigin)
    line, misplaced = _line(finding), _misplaced(finding)
    exercise, answer, outcomes = search.exercise, search.answer, search.outcomes
    located = finding is not None and finding.kind.locates and finding.place is not None
    case = finding.kind.facts.get("case", "") if located else ""
    edit = find_edit(exercise, answer, outcomes, line, misplaced, nan, search.repairs, case=case)
    return combined(finding, edit) if edit is not None else None


def declared_in_some_outputs(search: Search) -> Finding | None:
    """A mistake that gives some outputs."""
    return find_declared_in_some_outputs(search.exercise, search.outcomes)


def declared_in_some_cases(search: Search) -> Finding | None:
    """A mistake that gives some cases, in place of what only says where to look, or of nothing."""
    finding = search.finding
    if finding is not None and not all(part.kind.vague for part in finding.parts or (finding,)):
        return None
    return find_declared_in_some_cases(search.exercise, search.outcomes)


def combined(finding: Finding | None, edit: Finding) -> Finding:
    """The edit alone, or after a finding that says what came of the mistake."""
    if finding is not None and isinstance(finding.kind, Besides):
        return combined(finding.parts[0], edit)
    if finding is None or finding.partial or not edit.kind.follows:
        return edit
    if isinstance(finding.kind, WithItsLine):
        return combined(finding.parts[0], edit)
    if finding.kind.locates or any(part.kind.locates for part in finding.parts):
        return edit
    return Finding(AndOneEdit((finding, edit)), edit.place, edit.fits, edit.of, edit.partial)


def edit_for_nan_alone(search: Search) -> Finding | None:
    """An edit in place of a declared mistake for which nothing but NaN speaks."""
    if search.finding is None or not search.finding.conclusive or not _by_nan_alone(search):
        return None
    edit = find_edit(search.exercise, search.answer, search.outcomes)
    fills = edit is not None and isinstance(edit.kind, OneEdit) and edit.kind.edit_kind.fills_absence
    return None if fills else edit  # every mistake that ends in NaN looks like an edit that fills an absence


def _line(finding: Finding | None) -> int | None:
    return finding.place.line if finding is not None and finding.place is not None else None


def _misplaced(finding: Finding | None) -> Sequence[str]:
    """The accesses that a finding is about, where it says that they are misplaced."""
    kinds = [f.kind for f in (finding, *finding.parts)] if finding is not None else []
    misplaced = {kind.misplaced for kind in kinds}
    return next((accesses for which, accesses in ACCESSES.items() if which in misplaced), ())


def unused_strides(search: Search) -> Finding | None:
    """Parameters that no line uses, in place of what only says where to look, or what was never read."""
    finding = search.finding
    parts = (finding.parts or (finding,)) if finding is not None else ()
    if (
        finding is not None
        and not _is_vague(finding)
        and not all(isinstance(p.kind, NeverRead) for p in parts)
    ):
        return None
    return find_unused_strides(search.outcomes, search.answer)


def own_words(search: Search) -> Finding | None:
    """What the exercise says itself, of an answer all of whose cases were judged."""
    explain, statuses = search.exercise.explained.explain, {o.status for o in search.outcomes}
    judged = Status.WRONG in statuses <= {Status.WRONG, Status.PASS}
    return explain(search.outcomes, search.answer) if explain is not None and judged else None


def result_into_input(search: Search) -> Finding | None:
    """A result that is stored into an input, whose strides lead the store astray in some cases.

    In every case that ran to the end that is all that is wrong; in the others a store into this input failed.
    """
    failing = [o for o in search.outcomes if o.status is not Status.PASS]
    ran = [o for o in failing if o.status is Status.WRONG]
    faults = {o.fault for o in ran}
    fault = faults.pop() if len(faults) == 1 else ()
    kind = BY_FAULT.get(fault[0]) if fault else None
    if kind not in (ChangedInput, ReturnedInput) or not all(c.ok for o in ran for c in o.outputs):
        return None
    stores = [o for o in failing if o.status is Status.OUT_OF_BOUNDS and o.fault[:1] == ("store",)]
    into = re.compile(rf"\b{re.escape(fault[-1])}(_ptr)?\b")
    if len(ran) + len(stores) < len(failing) or not all(into.search(o.message) for o in stores):
        return None
    return Finding(kind(ran[0].message, ran[0].case.name, search.exercise.kind))


def case_status(search: Search) -> Finding | None:
    """What the first case that ended early says, or the declared kernel that fails just so."""
    return from_status(search.exercise, search.outcomes)


def with_declared_mistake(search: Search) -> Finding | None:
    """A fault of memory, and the named mistake that the other cases show."""
    finding, exercise, outcomes = search.finding, search.exercise, search.outcomes
    declared = finding is not None and finding.mistake in exercise.explained.mistakes
    if finding is None or (declared and not finding.partial) or not search.wrong:
        return None  # a declared kernel that fails just so in every case explains them all
    complete = [o for o in comparable(outcomes) if o.status is Status.WRONG]
    if len(complete) == 1 and any(says_little(complete[0]) for says_little in SAY_LITTLE):
        return None  # an output that is not written there, or is 0, or a single number, has many causes
    also = find_declared(exercise, complete)
    if also is None or also.fits < MOSTLY * also.of or also.mistake == finding.mistake:
        return None  # a wrong address may make cases wrong in which it happens to stay inside
    return Finding(Besides((finding, also)), finding.place, finding.fits, finding.of, partial=True)


def _has_few_numbers(outcome: Outcome) -> bool:
    """True if the wrong outputs of a case have fewer numbers than tell one mistake from another."""
    wrong = [check.expected for check in outcome.outputs if not check.ok]
    return sum(x.numel() for x in wrong if isinstance(x, torch.Tensor)) < FEWEST_CHANGED


def _shows_unwritten_alone(outcome: Outcome) -> bool:
    """True if some elements of the wrong outputs were never written, and no number is wrong."""
    unwritten = any(not c.ok and c.writers is not None and (c.writers < 0).any() for c in outcome.outputs)
    return unwritten and not any(map(has_wrong_numbers, outcome.outputs))


def _is_zero(outcome: Outcome) -> bool:
    """True if the wrong outputs of a case are 0 everywhere."""
    wrong = [check.got for check in outcome.outputs if not check.ok]
    return all(isinstance(got, torch.Tensor) and not bool(got.any()) for got in wrong)


SAY_LITTLE = (_shows_unwritten_alone, _has_few_numbers, _is_zero)
"""What a single wrong case may show that has many causes."""


def with_edit_for_fault(search: Search) -> Finding | None:
    """The edit that makes everything right, where an access went wrong."""
    return with_edit(search) if search.finding is not None and search.finding.kind.memory_fault else None


def with_edit_and_mistake(search: Search) -> Finding | None:
    """An edit that keeps every access inside, and what is wrong then."""
    finding = search.finding
    if finding is None or not finding.kind.memory_fault:
        return None
    line, misplaced = _line(finding), _misplaced(finding)
    exercise, answer, outcomes = search.exercise, search.answer, search.outcomes
    shown = finding.parts[1].mistake if isinstance(finding.kind, Besides) else ""
    edit = find_edit_and_mistake(exercise, answer, outcomes, line, misplaced, shown)
    return combined(finding, edit) if edit is not None else None
