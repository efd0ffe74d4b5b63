"""The search for a mistake is a list of stages, each with its turn, its name and its line in the docs."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from flashlearn.exercise import Case
from flashlearn.explaining import formulas, pipeline
from flashlearn.explaining.findings.misplaced_stores import Transposed
from flashlearn.explaining.findings.zero_sign_constants import Sign
from flashlearn.explaining.pipeline import stages_for
from flashlearn.explaining.stage import Role, Search, Stage, run
from flashlearn.lessons import find
from flashlearn.outcome import Finding, Outcome, Status

SIGN, TRANSPOSED = Finding(Sign("y")), Finding(Transposed("y"))
EVERY = (*pipeline.WRONG_NUMBERS, *pipeline.ENDED_EARLY, *formulas.FORMULAS)
ROW_SUM = find("row_sum")


def stage(found: Finding | None, role: Role = Role.NAME, reruns: bool = False) -> Stage:
    return Stage("one", "", lambda search: found, role, reruns)


def found_by(*stages: Stage) -> Finding | None:
    return run(stages, Search(ROW_SUM, []))


def test_the_first_name_that_is_found_is_kept():
    assert found_by(stage(None), stage(SIGN), stage(TRANSPOSED)) is SIGN


def test_a_refinement_takes_the_place_of_what_was_found():
    assert (
        found_by(stage(SIGN), stage(TRANSPOSED, Role.REFINEMENT), stage(None, Role.REFINEMENT)) is TRANSPOSED
    )


def test_a_proof_ends_the_search():
    assert found_by(stage(SIGN, Role.PROOF), stage(TRANSPOSED, Role.REFINEMENT)) is SIGN


def test_a_stage_that_runs_the_answer_again_is_passed_over_where_there_is_none():
    assert found_by(stage(SIGN, reruns=True), stage(TRANSPOSED)) is TRANSPOSED


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ("PASS PASS", ()),
        ("TODO", ()),
        ("PASS WRONG", pipeline.WRONG_NUMBERS),
        ("WRONG OUT_OF_BOUNDS", pipeline.ENDED_EARLY),
        ("CRASHED", pipeline.ENDED_EARLY),
    ],
)
def test_the_stages_are_chosen_by_how_the_cases_ended(statuses, expected):
    outcomes = [Outcome(Case(name), Status[name]) for name in statuses.split()]
    assert stages_for(outcomes) == expected


def test_every_stage_has_a_name_of_its_own_and_describes_itself_in_a_sentence():
    assert len({one.name for one in EVERY}) == len(EVERY)
    assert all(one.description[0].isupper() and one.description.endswith(".") for one in EVERY)


def test_the_page_lists_the_stages_as_they_are():
    path = Path(__file__).parents[2] / "tools" / "stages_page.py"
    spec = importlib.util.spec_from_file_location("stages_page", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    page = tool.PAGE.read_text()
    assert page == tool.updated(page), "run tools/stages_page.py"
    assert [one for *_, stages in tool.GROUPS for one in stages] == list(EVERY)
