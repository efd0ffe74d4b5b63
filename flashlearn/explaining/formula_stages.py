"""The stage that repairs a formula, after what its declared mistakes and patterns have said."""

from __future__ import annotations

from flashlearn.explaining.edits.search import find_edit
from flashlearn.explaining.findings.edits import AndOneEdit, OneEdit
from flashlearn.explaining.findings.outputs import EachOutput, Outputs
from flashlearn.explaining.findings.symbolic import ErrorPattern
from flashlearn.explaining.stage import Search
from flashlearn.outcome import Finding, Status


def edit_of_formula(search: Search) -> Finding | None:
    """The edit that makes a formula right: after a pattern of its error, or for the outputs still open."""
    finding, statuses = search.finding, {o.status for o in search.outcomes}
    if Status.WRONG not in statuses or not statuses <= {Status.WRONG, Status.CRASHED, Status.PASS}:
        return None
    if finding is None:
        return find_edit(search.exercise, search.answer, search.outcomes)
    parts = finding.parts or (finding,)
    if isinstance(finding.kind, Outputs) and finding.partial:
        return with_edit_of_the_rest(search)
    if not all(isinstance(part.kind, ErrorPattern) for part in parts):
        return None
    edit = find_edit(search.exercise, search.answer, search.outcomes)
    if edit is None:
        return None
    alike = isinstance(edit.kind, OneEdit) and len({part.names for part in parts}) == 1
    return Finding(AndOneEdit((parts[0] if alike else finding, edit)), edit.place, edit.fits, edit.of)


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
