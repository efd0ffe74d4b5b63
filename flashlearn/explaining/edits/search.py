"""One edit that makes every wrong case right, looked for by running the learner's function with each.

That an edit mends everything is no guess: it has been seen. How far it is sought is counted in work, not in
seconds, so that a verdict is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.edits import Edit, edits_of
from flashlearn.explaining.edits.address_slice import lines_concerned, lines_feeding
from flashlearn.explaining.edits.output_slice import suspects
from flashlearn.explaining.edits.ranking import ordered
from flashlearn.explaining.edits.verification import Formulas, Numbers, cost
from flashlearn.outcome import Finding, Outcome, Place, untyped
from flashlearn.running.answer import Answer
from flashlearn.running.answer_source import Section

SECOND = 400.0
"""Work that the search for a second edit may take."""

PROOF = 2 * SECOND
"""No second one is looked for where it would take more than this to see that all wrong cases come right."""


class Trial(Protocol):
    """What is wrong with an answer, and whether it still is with an edited section.

    `bad` are the outputs that are wrong somewhere, `left` is how much work may still be done, `by_chance` the
    kinds of edits that may mend a single case by chance; `kept` are other sections with texts of their own
    from now on; `reached` is how many of the wrong cases, in their order, came right the last time.
    """

    wrong: Sequence[Outcome]
    bad: set[str]
    left: float
    by_chance: frozenset[str]
    reached: int
    kept: tuple[tuple[int, str], ...]

    def mended(self, section: int, text: str) -> set[str]:
        """The outputs that are right in every case: all that were wrong, one of several, or none."""


def one_edit(
    exercise: Exercise,
    answer: Answer,
    outcomes: Sequence[Outcome],
    line: int | None = None,
    astray: Sequence[str] = (),
    born: bool = False,
) -> Finding | None:
    """The finding that one edit of the answer's text makes every wrong case right, or one for each output.

    `line` is the learner's line where the values depart first, if that is known; `astray` are the names of
    accesses, if it is known that some went to a wrong place, or to too few. `born` says that a NaN comes
    from an operation in the line, of operands that another line may have made. None where nothing was found,
    where finding the line is the exercise, and where outputs cannot be compared.
    """
    unsolved, found = exercise.explained.unsolved, answer.sections()
    if not found or (unsolved is not None and unsolved(answer)):
        return None
    trial = (Formulas if exercise.kind is Kind.SYMBOLIC else Numbers)(exercise, answer, outcomes)
    if not trial.wrong:
        return None
    mends: dict[frozenset[str], tuple[int, Edit]] = {}
    halves: list[Half] = []
    edits = ((i, edit) for i, section in enumerate(found) for edit in edits_of(section.text))
    near = [line and line - section.line + 1 for section in found]
    concerned = lines_concerned(found, astray, line) if astray else ()
    feeding = lines_feeding(found, line) if born else ()
    bearing = suspects(found, exercise.outputs, outcomes)
    hints = (near, concerned, feeding, bearing)
    for i, edit in ordered(edits, outcomes, *hints):
        if trial.left <= 0:
            break
        if len(trial.wrong) == 1 and edit.kind in trial.by_chance:
            continue
        good = frozenset(trial.mended(i, edit.applied(found[i].text)))
        if good:
            mends.setdefault(good, (i, edit))
        if good == trial.bad:
            return told(trial.wrong, found[i], edit)
        if not good and trial.reached >= (2 if edit.kind in trial.by_chance else 1):
            halves.append(Half(trial.reached, i, edit))
    alone = [(name, *mends[key]) for name in exercise.outputs if (key := frozenset({name})) in mends]
    if len(alone) < max(2, len(trial.bad)):
        return two_edits(trial, found, halves, outcomes, hints)
    parts = tuple(told(trial.wrong, found[i], edit, name) for name, i, edit in alone)
    return untyped("each output", parts=parts, fits=len(trial.wrong), of=len(trial.wrong))


class Half(NamedTuple):
    """An edit that makes the first `reached` of the wrong cases right, and not all."""

    reached: int
    section: int
    edit: Edit


def two_edits(
    trial: Trial,
    found: Sequence[Section],
    halves: Sequence[Half],
    outcomes: Sequence[Outcome],
    hints: Sequence[Sequence],
) -> Finding | None:
    """The finding that a second edit mends what the first leaves wrong, in any of the functions.

    `hints` are what `ranking.ordered` may know of the lines.
    """
    best = max(halves, key=lambda half: half.reached, default=None)
    if best is None or sum(map(cost, trial.wrong)) > PROOF:
        return None
    section, wrong, at = found[best.section], trial.wrong, best.section
    text = best.edit.applied(section.text)
    if text.count("\n") != section.text.count("\n"):
        return None  # lines would have other numbers
    trial.left = SECOND
    left = [o for o in outcomes if all(o is not done for done in wrong[: best.reached])]
    trial.wrong = [*wrong[best.reached :], *wrong[: best.reached]]
    texts = [text if i == at else one.text for i, one in enumerate(found)]
    trial.kept = ((at, text),)
    second = ((i, edit) for i, one in enumerate(texts) for edit in edits_of(one))
    for i, edit in ordered(second, left, *hints):
        if trial.left <= 0:
            return None
        if trial.mended(i, edit.applied(texts[i])) == trial.bad:
            parts = (told(wrong, section, best.edit), told(wrong, found[i], edit))
            facts = {"reached": best.reached, "cases": len(wrong)}
            return untyped("two edits", facts, parts[0].place, len(wrong), len(wrong), ("one edit",), parts)
    return None


def told(wrong: Sequence[Outcome], section: Section, edit: Edit, output: str = "") -> Finding:
    """The finding that one edit of a section makes the wrong cases right."""
    count, line = len(wrong), section.line + edit.line - 1
    also = tuple(section.line + one - 1 for one in edit.also)
    facts = {"edit": edit.kind, "line": line, "old": edit.old, "new": edit.new, "cases": count, "also": also}
    place = Place(section.file, line, section.text.splitlines()[edit.line - 1].rstrip(), section.name)
    return untyped("one edit", {**facts, "output": output}, place, count, count)
