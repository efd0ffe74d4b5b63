"""The stages that repair a formula, or find the line of its mistake, after what its patterns have said."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from flashlearn.exercise import Kind
from flashlearn.explaining.edits.calls import TRANSPOSE
from flashlearn.explaining.edits.line_of_mistake import find_line
from flashlearn.explaining.edits.names import CONSTANT, OTHER_NAME
from flashlearn.explaining.edits.operators import OPERAND_ORDER, OPERATOR, SIGN
from flashlearn.explaining.edits.search import find_edit
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.edits import AndOneEdit, DeclaredInLine, OneEdit, TwoEdits
from flashlearn.explaining.findings.outputs import EachOutput, Outputs
from flashlearn.explaining.findings.symbolic import ErrorPattern, NotCompared
from flashlearn.explaining.findings.two_mistakes import AtOnce
from flashlearn.explaining.matching import has_wrong_numbers
from flashlearn.explaining.stage import Search
from flashlearn.outcome import Finding, Status
from flashlearn.running.answer import Answer

FORMULAS = (Kind.SYMBOLIC, Kind.TORCH)

LINE_RUNS = 200
"""Runs in the search for the line of a mistake that has a name already."""

SLIPS = (SIGN, OPERATOR, OPERAND_ORDER, OTHER_NAME, CONSTANT)
"""Kinds of edits of one sign, name or number."""


def line_of_declared(search: Search) -> Finding | None:
    """A declared mistake with the edit that takes it back, if there is a single one.

    Where only NaN speaks for the mistake, an edit of one sign, name or number takes its place.
    """
    finding, exercise = search.finding, search.exercise
    if not is_line_of_declared(search):
        return None
    about = (exercise, search.answer, search.outcomes)
    edit = find_edit(*about, runs=LINE_RUNS)
    if edit is None or not isinstance(edit.kind, OneEdit):
        return None
    if edit.kind.doubt:  # everything is right with it, so there may be a more natural one
        place = find_line(*about)
        return replace(finding, place=place) if place is not None else None
    if exercise.kind is Kind.TORCH and edit.kind.edit_kind in SLIPS and not _has_numbers(search):
        return edit
    if edit.kind.edit_kind is TRANSPOSE and _transposes_a_local(search.answer, edit.kind):
        return None  # it may be made transposed, or be used so
    return Finding(DeclaredInLine((finding, edit)), edit.place, finding.fits, finding.of)


def _transposes_a_local(answer: Answer, edit: OneEdit) -> bool:
    """Whether what an edit transposes is a variable that the answer assigns, and no argument."""
    names = {*re.findall(r"\w+", edit.old)}
    return any(
        names & {node.id for node in ast.walk(ast.parse(section.text)) if _is_assigned(node)}
        for section in answer.sections()
    )


def _is_assigned(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def with_line(search: Search) -> Finding | None:
    """The finding with the line of its mistake, where one edit there makes everything right."""
    finding = search.finding
    if finding is None or finding.partial or finding.kind.knows_lines or is_line_of_declared(search):
        return None  # of a formula's declared mistake that line has been looked for
    sure = finding.conclusive or (
        isinstance(finding.kind, NotCompared) and finding.kind.rule == "wrong shape"
    )
    if not sure or len(finding.names) != 1 or any(part.place for part in (finding, *finding.parts)):
        return None
    place = find_line(search.exercise, search.answer, search.outcomes)
    return replace(finding, place=place) if place is not None else None


def is_line_of_declared(search: Search) -> bool:
    """Whether a declared mistake of a formula is all that is wrong, and its line is still to be found."""
    finding = search.finding
    if search.exercise.kind not in FORMULAS or finding is None or not isinstance(finding.kind, Declared):
        return False
    scope = finding.kind.scope
    return not finding.partial and finding.place is None and (not scope or scope.kind == "outputs")


def _has_numbers(search: Search) -> bool:
    """Whether some output has finite numbers that are wrong."""
    return any(has_wrong_numbers(check) for o in search.wrong for check in o.outputs)


def edit_of_crash(search: Search) -> Finding | None:
    """The edit that makes everything right where a formula in torch stops with an error that has no name."""
    statuses = {o.status for o in search.outcomes}
    if search.finding is not None and set(search.finding.names) - {Status.CRASHED.value}:
        return None
    if search.exercise.kind is not Kind.TORCH or not statuses <= {Status.WRONG, Status.CRASHED, Status.PASS}:
        return None
    return find_edit(search.exercise, search.answer, search.outcomes, kept=search.repairs)


def edit_of_formula(search: Search) -> Finding | None:
    """The edit that makes a formula right: after a pattern of its error, or for the outputs still open."""
    finding, statuses = search.finding, {o.status for o in search.outcomes}
    if statuses == {Status.PASS} or not statuses <= {Status.WRONG, Status.CRASHED, Status.PASS}:
        return None
    if finding is None:
        return find_edit(search.exercise, search.answer, search.outcomes)
    parts = finding.parts or (finding,)
    if isinstance(finding.kind, AtOnce):
        return _one_mistake_for_two(search)
    if isinstance(finding.kind, Outputs) and finding.partial:
        return with_edit_of_the_rest(search)
    if isinstance(finding.kind, NotCompared) and finding.kind.rule == "wrong shape":
        edit = find_edit(search.exercise, search.answer, search.outcomes)
        whole = edit is not None and isinstance(edit.kind, OneEdit) and not edit.kind.output
        return edit if whole else None
    if not all(isinstance(part.kind, ErrorPattern) for part in parts):
        return None
    edit = find_edit(search.exercise, search.answer, search.outcomes)
    if edit is None or (isinstance(edit.kind, TwoEdits) and len(parts) == 1 and not finding.partial):
        return None  # one pattern is one mistake
    alike = isinstance(edit.kind, OneEdit) and len({part.names for part in parts}) == 1
    return Finding(AndOneEdit((parts[0] if alike else finding, edit)), edit.place, edit.fits, edit.of)


def _one_mistake_for_two(search: Search) -> Finding | None:
    """One edit in place of two declared mistakes: where it makes everything right, there is only one."""
    edit = find_edit(search.exercise, search.answer, search.outcomes, runs=LINE_RUNS)
    whole = edit is not None and isinstance(edit.kind, OneEdit) and not edit.kind.output
    return edit if whole and not edit.kind.doubt else None


def with_edit_of_the_rest(search: Search) -> Finding | None:
    """What has been found of some outputs, and the edit that makes all the others right."""
    finding = search.finding
    wrong = {c.name for o in search.wrong for c in o.outputs if not c.ok}
    explained = wrong - {*finding.kind.silent}
    about = (search.exercise, search.answer, search.outcomes)
    edit = find_edit(*about, kept=search.repairs, explained=explained)
    parts = edit.parts or (edit,) if edit is not None else ()
    open_ones = [part for part in parts if not {*_outputs(part)} <= explained]
    if not open_ones or not all(map(_outputs, parts)):
        return edit
    return Finding(EachOutput((*finding.parts, *open_ones)), edit.place, edit.fits, edit.of)


def _outputs(finding: Finding) -> list[str]:
    """The outputs that an edit makes right, where it is not all of them."""
    output = finding.kind.output if isinstance(finding.kind, OneEdit) else ""
    return output.split(" and ") if output else []
