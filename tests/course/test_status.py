"""The page that shows how far one is: its links lead to the learner's copies, from wherever it is shown."""

import re
from pathlib import Path

import pytest

import flashlearn
from flashlearn.course import lesson_reader, packaged_lessons
from flashlearn.course.files import Course
from flashlearn.course.overview import survey
from flashlearn.course.pages import start_page
from flashlearn.course.pages.overview_html import prose
from flashlearn.course.progress import Progress
from flashlearn.outcome import Status
from tests.course.synthetic_course import lesson, make_course


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    lessons = {
        "00_tour": lesson("program_ids", "row_sum", title="The <tour>"),
        "02_softmax": lesson("softmax_forward", title="Softmax"),
    }
    course = make_course(tmp_path / "course", lessons)
    course.fill_work()
    monkeypatch.setenv("FLASHLEARN_COURSE", str(course.root))
    monkeypatch.chdir(course.work)
    return course


def links(page: str) -> list[str]:
    return re.findall(r'href="([^"]+)"', page)


def test_the_page_links_to_what_is_next_and_to_every_lesson_and_exercise(course):
    page = flashlearn.status()._repr_html_()
    assert links(page)[0] == "00_tour.ipynb", "a lesson that is not begun is read from its beginning"
    assert {"00_tour.ipynb#cell-id=ex-row_sum", "02_softmax.ipynb"} <= set(links(page))
    Progress().attempt("program_ids", Status.WRONG, 0.1)
    page = flashlearn.status()._repr_html_()
    assert links(page)[0] == "00_tour.ipynb#cell-id=ex-program_ids"
    assert "0 of 3" in page and "The &lt;tour&gt;" in page and "The <tour>" not in page


def test_links_lead_from_the_folder_of_the_notebook(course, monkeypatch):
    (course.work / "drafts").mkdir()
    monkeypatch.chdir(course.work / "drafts")
    assert links(flashlearn.status()._repr_html_())[0] == "../00_tour.ipynb"


def test_a_lesson_without_a_copy_has_no_link_and_says_so(course):
    (course.work / "02_softmax.ipynb").unlink()
    page = flashlearn.status()._repr_html_()
    assert not any("02_softmax" in link for link in links(page))
    assert "no copy of this lesson yet" in page


def test_a_lesson_that_is_complete_is_celebrated_with_what_it_promised(course):
    for name in ("program_ids", "row_sum"):
        Progress().attempt(name, Status.PASS, 0.1)
    shown = flashlearn.status()
    page = shown._repr_html_()
    promised = lesson_reader.abilities(packaged_lessons.sources()["00_tour"])
    assert "Lesson 00 is complete" in page and "You can now" in page
    assert page.count("<li>") == len(promised) >= 3
    assert "Lesson 00 is complete: The <tour>. Both exercises have passed." in str(shown)


def test_when_everything_has_passed_nothing_is_next(course):
    for name in course.exercises():
        Progress().attempt(name, Status.PASS, 0.1)
    shown = flashlearn.status()
    assert "All 3 exercises have passed." in str(shown) and "Next" not in str(shown)
    assert "Nothing left to do." in shown._repr_html_()


def test_a_status_that_cannot_be_told_is_a_sentence_and_no_page(course):
    (course.notebooks / "00_tour.ipynb").write_text("no notebook")
    shown = flashlearn.status()
    assert "damaged" in str(shown) and shown._repr_html_() is None


def test_the_first_page_holds_the_page_in_one_block_of_html(course):
    page = start_page.write(survey(course, Progress())).read_text()
    block = page[page.index('<div class="flashlearn-status"') :]
    assert "\n\n" not in block[: block.rindex("</div>")], "an empty line would end the block"
    assert "<style" not in block and "<script" not in block, "JupyterLab takes both away"


def test_the_first_page_is_written_anew_but_never_over_a_learner_s_own_file(course, monkeypatch):
    start_page.write(survey(course, Progress()))
    Progress().attempt("program_ids", Status.PASS, 0.1)
    path = start_page.write(survey(course, Progress()))
    assert "1 of 3" in path.read_text()
    path.write_text("my notes")
    assert start_page.write(survey(course, Progress())) is None and path.read_text() == "my notes"
    path.unlink()
    path.mkdir()
    assert start_page.write(survey(course, Progress())) is None, "what cannot be written is gone without"


@pytest.mark.parametrize("stem", packaged_lessons.sources())
def test_every_lesson_promises_something_in_points(stem: str):
    points = lesson_reader.abilities(packaged_lessons.sources()[stem])
    assert 3 <= len(points) <= 7 and all(len(point) > 10 and "\n" not in point for point in points)


def test_a_promise_keeps_its_formulas_and_shows_its_code(tmp_path: Path):
    assert prose(r"*read* $p\,p^\top < 1$ in `a_b`") == r"<i>read</i> $p\,p^\top &lt; 1$ in <code>a_b</code>"
    assert lesson_reader.abilities(tmp_path / "nowhere.py") == ()


def test_the_level_of_an_exercise_is_shown_where_the_lesson_names_it(course):
    assert "core" not in str(flashlearn.status()) + flashlearn.status()._repr_html_()
    path = course.notebooks / "00_tour.ipynb"
    told = path.read_text(encoding="utf-8").replace("\\n\\nProse.", "\\n\\n### Exercise 1 · core", 1)
    path.write_text(told, encoding="utf-8")
    assert re.search(r"program_ids +core  not started", str(flashlearn.status()))
    assert ">core</span>" in flashlearn.status()._repr_html_()
