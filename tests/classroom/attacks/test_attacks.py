"""No submission gains a point by a lie or by force, harms another's grade, or stops the run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flashlearn.classroom.records import AssignedExercise, Assignment, CodeCell, Submission
from tests.classroom.attacks.submissions import HARMFUL, LYING, WHOLE, Attack
from tests.classroom.processes import alive, beneath, command

ROW = (AssignedExercise("row_sum", "00", 2, "share"),)
ASSIGNMENT = Assignment("week 1", ROW, "0", b"theirs", "key")
BETWEEN = 12
"""So many attacks pass before an honest answer is graded again."""
VERDICTS = {"wrong", "todo", "missing", "stopped", "not graded"}


def submission(attack: Attack) -> Submission:
    *before, last = attack.cells
    cells = (*map(CodeCell, before), CodeCell(last, "row_sum"))
    return Submission(attack.name, ("notebook.ipynb",), cells, key=attack.name)


def groups(attacks: tuple[Attack, ...]) -> list[tuple[Attack, ...]]:
    return [attacks[at : at + BETWEEN] for at in range(0, len(attacks), BETWEEN)]


@pytest.mark.parametrize("attack", [*LYING, *HARMFUL], ids=lambda attack: attack.name)
def test_an_attack_gains_nothing(attack: Attack, grading_session):
    found = grading_session.grade(submission(attack), ASSIGNMENT)
    (one,) = found.exercises
    assert (found.status, found.points, one.points) == ("graded", 0, 0.0), one
    assert one.verdict in VERDICTS
    said = "".join((one.sentence, one.line, one.next_step, *found.notes))
    assert "Traceback" not in said and "/etc/passwd" not in said and "root:x:0" not in said
    assert str(Path(__file__).parents[3]) not in said and len(said) < 12_000


def test_after_all_of_them_an_honest_answer_gets_its_points(grading_session):
    assert grading_session.grade(submission(WHOLE), ASSIGNMENT).points == 2
    assert not Path("/tmp/was-here").exists() and not Path("/tmp/flashlearn-was-here").exists()


def test_there_are_as_many_attacks_as_were_promised():
    names = [attack.name for attack in (*LYING, *HARMFUL)]
    assert len(set(names)) == len(names) >= 60


def test_nothing_that_they_started_is_left(grading_session):
    kinds = [command(number) for number in beneath(os.getpid()) if alive(number)]
    confined = [kind for kind in kinds if "sandbox.server" in kind]
    assert len(confined) <= 5, kinds  # bubblewrap's two, the server, the factory, and the last child's end
