"""A solution: after an attempt, or for who asks anyway; in the lesson's own words; remembered."""

import ast

import pytest

import flashlearn
from flashlearn.course import packaged_lessons
from flashlearn.course.progress import Progress
from flashlearn.lessons import all_exercises
from flashlearn.outcome import Status


def test_it_is_not_shown_before_a_first_attempt_unless_asked_for_anyway():
    early = flashlearn.solution("softmax_vjp")
    assert not early.shown and 'solution("softmax_vjp", anyway=True)' in str(early)
    assert "multiply_elementwise" not in str(early) + early._repr_markdown_()
    Progress().attempt("softmax_vjp", Status.TODO, 0.1)
    assert not flashlearn.solution("softmax_vjp").shown, "an untouched stub is no attempt"
    assert Progress().solutions() == set()
    assert flashlearn.solution("softmax_vjp", anyway=True).shown
    assert Progress().solutions() == {"softmax_vjp"}
    assert flashlearn.solution("softmax_vjp").shown, "who has seen it may see it again"


def test_after_an_attempt_it_is_shown_with_its_hints_and_what_there_is_to_notice():
    Progress().attempt("clinic_1", Status.WRONG, 0.1)
    shown = flashlearn.solution("clinic_1")
    for text in (str(shown), shown._repr_markdown_()):
        assert "alpha * dk, mask=in_keys[:, None])" in text
        assert all(hint in text for hint in packaged_lessons.hints(all_exercises()["clinic_1"]))
        assert "What to notice" in text and "The output and the factor are the whole diagnosis" in text
        assert "Lesson 10, section “4 · The patients”, leads up to it." in text


@pytest.mark.parametrize("name", all_exercises())
def test_the_solution_of_every_exercise_is_code_that_defines_it(name: str):
    shown = flashlearn.solution(name, anyway=True)
    assert any(getattr(node, "name", "") == name for node in ast.parse(shown.code).body)
    assert "STUB" not in shown.code and "TODO" not in shown.code and shown.section
    assert "SOLUTION" not in shown.code, "marks of the lesson's source are no part of a solution"


def test_it_is_shown_where_progress_cannot_be_written(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path / "file" / "home"))
    assert not flashlearn.solution("softmax_vjp").shown
    assert flashlearn.solution("softmax_vjp", anyway=True).shown
    assert "could not be read or written" in capsys.readouterr().err
