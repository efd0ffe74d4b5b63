"""Which case the evidence is about."""

from types import SimpleNamespace

import pytest

from flashlearn.exercise import Case
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.zero_sign_constants import Zero
from flashlearn.explaining.scope import Scope
from flashlearn.interpreter.cautions import SAME_VALUE, UNINITIALISED
from flashlearn.outcome import Caution, Finding, Outcome, Place, Status
from flashlearn.report.cautions import notes_of
from flashlearn.report.evidence import _with_its_line, case_of_evidence

FIRST, OWN, RIGHT = (
    Outcome(Case(name, {}), status)
    for name, status in (("first", Status.WRONG), ("own", Status.WRONG), ("right", Status.PASS))
)


@pytest.mark.parametrize(
    ("named", "fits", "told"),
    [("own", 1, OWN), ("own", 2, FIRST), ("", 1, FIRST), ("right", 1, FIRST), ("gone", 1, FIRST)],
)
def test_it_is_the_findings_own_case_where_that_explains_a_part(named, fits, told):
    finding = Finding(SimpleNamespace(case=named, parts=()), fits=fits, of=2)
    result = SimpleNamespace(
        principal=FIRST, finding=finding, outcomes=(FIRST, OWN, RIGHT), status=Status.WRONG
    )
    assert case_of_evidence(result) is told


def finding_with(scope: Scope) -> Outcome:
    """The case of the evidence beside a declared mistake of this scope."""
    finding = Finding(Declared("Alpha is missing.", "", scope, ("alpha",)), fits=1, of=2, partial=True)
    result = SimpleNamespace(principal=FIRST, finding=finding, outcomes=(FIRST, OWN), status=Status.WRONG)
    return case_of_evidence(result)


def test_a_mistake_that_explains_a_part_is_shown_in_a_case_that_it_explains():
    assert finding_with(Scope("part", share=(1, 2), case="own")) is OWN
    assert finding_with(Scope("part", share=(1, 2))) is FIRST


@pytest.mark.parametrize("kind", [SAME_VALUE, UNINITIALISED])
def test_a_note_with_indices_names_their_case(kind):
    caution = Caution(kind, "Two programs write y_ptr[0].")
    outcomes = [Outcome(Case(name, {}), Status.PASS, warnings=(caution,)) for name in ("one", "two")]
    assert [note.sentence for note in notes_of(SimpleNamespace(outcomes=outcomes))] == [
        "Case one: Two programs write y_ptr[0]."
    ]


def test_this_line_is_numbered_where_the_report_shows_another():
    place = Place("f.py", 16, "p * (dp - delta)", "f")
    outcome = Outcome(Case("c"), Status.CRASHED, "The shapes in this line do not match.", place=place)
    elsewhere = Finding(Zero("dq"), Place("f.py", 15, "delta = x.sum(-1)", "f"))
    assert "in line 16" in _with_its_line(outcome.message, elsewhere, outcome)
    assert "in this line" in _with_its_line(outcome.message, Finding(Zero("dq"), place), outcome)
