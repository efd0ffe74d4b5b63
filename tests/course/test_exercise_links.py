"""A card's link to the next exercise, and the first page, which keeps up with what has passed."""

from __future__ import annotations

from pathlib import Path

import pytest

from flashlearn.course.answers import solution
from flashlearn.course.check import check
from flashlearn.course.exercise_links import exercise_link
from flashlearn.course.files import Course
from flashlearn.course.overview import survey
from flashlearn.course.pages import start_page
from flashlearn.course.progress import Progress
from flashlearn.lessons import find
from tests.course.synthetic_course import lesson, make_course

ADDRESS = "01_gradients.ipynb#cell-id=ex-matmul_jacobian"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    lessons = {
        "00_tour": lesson("scaled_add", title="Tour"),
        "01_gradients": lesson("matmul_jacobian", title="Gradients"),
    }
    made = make_course(tmp_path / "course", lessons)
    monkeypatch.setenv("FLASHLEARN_COURSE", str(made.root))
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    made.fill_work()
    monkeypatch.chdir(made.work)
    return made


def test_a_link_leads_to_the_learner_s_copy(course: Course, monkeypatch: pytest.MonkeyPatch):
    assert exercise_link("matmul_jacobian", "01") == ADDRESS
    monkeypatch.chdir(course.root)
    assert exercise_link("matmul_jacobian", "01") == "", "outside work/ there is nothing to be relative to"


def test_within_a_lesson_it_stays_in_the_notebook_that_is_open(course: Course, monkeypatch):
    (course.work / "01_gradients.ipynb").rename(course.work / "01_my gradients.ipynb")
    assert exercise_link("matmul_jacobian", "01") == ""
    monkeypatch.setenv("JPY_SESSION_NAME", "work/01_my gradients.ipynb")
    assert exercise_link("matmul_jacobian", "01") == "01_my%20gradients.ipynb#cell-id=ex-matmul_jacobian"


def test_a_pass_links_to_the_next_exercise_and_brings_the_first_page_up_to_date(course: Course):
    page = start_page.write(survey(course, Progress()))
    assert "0 of 2" in page.read_text() and "whenever an exercise passes" in page.read_text()
    report = check("scaled_add", solution(find("scaled_add")))
    assert report.passed and report.links == (("matmul_jacobian", ADDRESS),)
    assert f'<a href="{ADDRESS}">matmul_jacobian</a>' in report._repr_html_()
    assert "1 of 2" in page.read_text()
    page.write_text("my notes")
    check("scaled_add", solution(find("scaled_add")))
    assert page.read_text() == "my notes"
