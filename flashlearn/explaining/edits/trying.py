"""One edit that makes every wrong case right, looked for by running the learner's kernel with each.

That an edit mends everything is no guess: it has been seen. How far it is sought is counted in accesses to
memory, not in seconds, so that a verdict is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from flashlearn.exercise import Exercise, Inputs
from flashlearn.explaining.edits import Edit, edits_of
from flashlearn.explaining.edits.likely import ordered
from flashlearn.judging.tolerance import agrees
from flashlearn.outcome import Finding, Outcome, Place, Status
from flashlearn.running.answer import Answer
from flashlearn.running.circumstances import Edited
from flashlearn.running.edited import Section, joined, original_line

PATIENCE = 1_600
"""Work that a search may take, where making a function from its text counts as much as ACCESSES accesses."""

ACCESSES = 14
SPARED = 3
"""So many cases that are right already must remain so."""


@dataclass
class Search:
    """The wrong cases of an answer, quickest first, and how much work is left for trying edits of it."""

    exercise: Exercise
    answer: Answer
    outcomes: Sequence[Outcome]
    left: float = PATIENCE
    inputs: dict[str, Inputs] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.wrong = sorted((o for o in self.outcomes if o.status is Status.WRONG), key=_cost)
        right = (o for o in self.outcomes if o.status is Status.PASS and o.outputs)
        self.right = sorted(right, key=_cost)[:SPARED]
        self.bad = {c.name for o in self.wrong for c in o.outputs if not c.ok}

    def mended(self, text: str) -> set[str]:
        """The outputs that are right in every case with this text: all of them, one of several, or none."""
        good = set(self.bad)
        for outcome in (*self.wrong, *self.right):
            good &= self._right(text, outcome)
            if not good:
                break
        return good

    def _right(self, text: str, outcome: Outcome) -> set[str]:
        self.left -= _cost(outcome)
        case = outcome.case
        if case.name not in self.inputs:
            self.inputs[case.name] = self.exercise.inputs(case, case.generator())
        evidence = self.answer.run(self.inputs[case.name], Edited(text, case.seed))
        if evidence.raised is not None or len(evidence.outputs) != len(outcome.outputs):
            return set()
        seen = zip(outcome.outputs, evidence.values, strict=True)
        right = {check.name for check, out in seen if agrees(check, out)}
        return right if {c.name for c in outcome.outputs} - self.bad <= right else set()


def one_edit(
    exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome], line: int | None = None
) -> Finding | None:
    """The finding that one edit of the answer's text makes every wrong case right, or one for each output.

    `line` is the learner's line where the values depart first, if that is known. None where nothing was
    found, where finding the line is the exercise, and where outputs cannot be compared.
    """
    unsolved = exercise.explained.unsolved
    if (unsolved is not None and unsolved(answer)) or not all(map(_comparable, outcomes)):
        return None
    found, search = answer.sections(), Search(exercise, answer, outcomes)
    if not found or not search.wrong:
        return None
    text = joined(found)
    first = search.wrong[0].outputs
    mends: dict[frozenset[str], Edit] = {}
    for edit in ordered(edits_of(text), outcomes, _line_in(found, line)):
        if search.left <= 0:
            break
        good = frozenset(search.mended(edit.applied(text)))
        if good:
            mends.setdefault(good, edit)
        if good == search.bad:
            return _finding(search, found, edit)
    parts = [
        _finding(search, found, mends[frozenset({check.name})], check.name)
        for check in first
        if frozenset({check.name}) in mends
    ]
    if len(parts) < len(search.bad):
        return None
    return Finding("each output", parts=tuple(parts), fits=len(search.wrong), of=len(search.wrong))


def _finding(search: Search, found: Sequence[Section], edit: Edit, output: str = "") -> Finding:
    count = len(search.wrong)
    section, line = original_line(found, edit.line)
    facts = {"edit": edit.kind, "line": line, "old": edit.old, "new": edit.new, "cases": count}
    shown = section.text.splitlines()[line - section.line].rstrip()
    place = Place(section.file, line, shown, section.name)
    return Finding("one edit", {**facts, "output": output}, place, count, count)


def _line_in(found: Sequence[Section], line: int | None) -> int | None:
    """A line of the learner's cell as a line of the joined text."""
    at = 1
    for section in found:
        count = section.text.count("\n")
        if line is not None and section.line <= line < section.line + count:
            return at + line - section.line
        at += count + 3
    return None


def _cost(outcome: Outcome) -> float:
    return ACCESSES + (outcome.observation.accesses if outcome.observation is not None else 0)


def _comparable(outcome: Outcome) -> bool:
    """True for a case that was judged by its numbers."""
    if outcome.status not in (Status.PASS, Status.WRONG) or outcome.mode != "observed":
        return False
    return not outcome.fault and all(
        isinstance(check.got, torch.Tensor) and not check.problem for check in outcome.outputs
    )
