"""An installed package is enough: its lessons are a clone's, and a folder of one's own fills from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flashlearn.course import packaged_lessons
from flashlearn.course.files import Course
from flashlearn.course.lesson_reader import LEVELS, Lesson, read_notebook, read_source
from flashlearn.lessons import all_exercises

ROOT = Path(__file__).parents[2]
STEMS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def two_lessons(tmp_path, monkeypatch) -> Course:
    """An empty folder, and a package with two of the lessons."""
    sources = {stem: packaged_lessons.sources()[stem] for stem in ("00_tour", "02_softmax")}
    monkeypatch.setattr(packaged_lessons, "sources", lambda: sources)
    folder = tmp_path / "mine"
    folder.mkdir()
    return Course(folder)


def files(course: Course) -> set[str]:
    return {path.relative_to(course.root).as_posix() for path in course.root.rglob("*.ipynb")}


@pytest.mark.parametrize("stem", STEMS)
def test_a_learner_s_notebook_from_the_package_is_the_clone_s_to_the_byte(stem):
    assert (
        packaged_lessons.notebook(stem, solved=False) == (ROOT / "notebooks" / f"{stem}.ipynb").read_bytes()
    )


def test_titles_and_exercises_off_the_sources_are_those_of_the_notebooks():
    of_notebooks = tuple(read_notebook(ROOT / "notebooks" / f"{stem}.ipynb") for stem in STEMS)
    assert packaged_lessons.lessons() == of_notebooks
    assert {name for lesson in packaged_lessons.lessons() for name in lesson.exercises} == set(
        all_exercises()
    )


def test_an_exercise_is_read_off_its_marker_whatever_else_stands_there(tmp_path):
    source = tmp_path / "notebook.py"
    source.write_text(
        '# %% [markdown]\n# # A tour\n# ## Not the title\n\n# %% tags=["x"] exercise="row_sum"\n'
        'exercise="no_marker"\n# %% a title exercise="scaled_add"\n'
    )
    assert read_source(source, "00_tour") == Lesson("00_tour", "A tour", ("row_sum", "scaled_add"))


def test_an_exercise_s_level_is_read_off_the_heading_before_its_cell(tmp_path):
    headings = ("### Exercise 1: `row_sum` · warm-up", "### Patient 7 · stretch", "### Exercise 3 · easy", "")
    cells = [
        part
        for number, heading in enumerate(headings)
        for part in (
            {"cell_type": "markdown", "id": f"m{number}", "source": f"# A tour\n\n{heading}\n\nSum · core"},
            {"cell_type": "code", "id": f"ex-one_{number}", "source": "pass"},
        )
    ]
    notebook, source = tmp_path / "00_tour.ipynb", tmp_path / "notebook.py"
    notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    source.write_text(
        "\n".join(
            f"# %% [markdown]\n# # A tour\n#\n# {heading}\n#\n# Sum · core\n\n"
            f'# %% exercise="one_{number}"\npass\n'
            for number, heading in enumerate(headings)
        ),
        encoding="utf-8",
    )
    for lesson in (read_notebook(notebook), read_source(source, "00_tour")):
        assert lesson.levels == ("warm-up", "stretch", "", "")
        assert lesson.level("one_1") == "stretch" and lesson.level("another") == ""


@pytest.mark.parametrize("lesson", packaged_lessons.lessons(), ids=lambda lesson: lesson.stem)
def test_every_exercise_has_a_level_and_every_lesson_a_core(lesson):
    assert len(lesson.levels) == len(lesson.exercises)
    assert set(lesson.levels) <= set(LEVELS), dict(zip(lesson.exercises, lesson.levels, strict=True))
    assert "core" in lesson.levels


def test_an_empty_folder_gets_the_lessons_and_their_solutions_not_run(two_lessons):
    copied = two_lessons.fill_work()
    assert [path.name for path in copied] == ["00_tour.ipynb", "02_softmax.ipynb"]
    assert files(two_lessons) == {f"work/{sub}{path.name}" for path in copied for sub in ("", "solutions/")}
    solved = json.loads((two_lessons.solutions / "00_tour.ipynb").read_text())
    assert not any(cell.get("outputs") for cell in solved["cells"])
    assert "### BEGIN SOLUTION" in json.dumps(solved)


def test_numbered_notebooks_of_one_s_own_are_no_lessons(two_lessons):
    (two_lessons.root / "notebooks").mkdir()
    (two_lessons.root / "notebooks" / "01_exploration.ipynb").write_text("{}")
    assert [lesson.stem for lesson in two_lessons.lessons()] == ["00_tour", "02_softmax"]


def test_what_is_in_the_folder_is_never_overwritten(two_lessons):
    two_lessons.fill_work()
    for path in (two_lessons.work / "00_tour.ipynb", two_lessons.solutions / "00_tour.ipynb"):
        path.write_text("mine")
    assert two_lessons.fill_work() == []
    assert (two_lessons.work / "00_tour.ipynb").read_text() == "mine"
    assert (two_lessons.solutions / "00_tour.ipynb").read_text() == "mine"


def test_a_reset_renews_lesson_and_solution_and_keeps_both_old_ones(two_lessons):
    two_lessons.fill_work()
    tour = two_lessons.lessons()[0]
    two_lessons.reset(tour)
    assert len(list((two_lessons.work / "old").iterdir())) == 1, (
        "a solution in its original state is not kept"
    )
    for path in (two_lessons.work / "00_tour.ipynb", two_lessons.solutions / "00_tour.ipynb"):
        path.write_text(f"mine in {path.parent.name}")
    fresh, kept = two_lessons.reset(tour)
    assert fresh.read_bytes() == packaged_lessons.notebook("00_tour", solved=False)
    assert kept.read_text() == "mine in work"
    (solved,) = (two_lessons.work / "old").glob("00_tour-solved.*.ipynb")
    assert solved.read_text() == "mine in solutions"
    assert (two_lessons.solutions / "00_tour.ipynb").read_bytes() == packaged_lessons.notebook(
        "00_tour", solved=True
    )


def test_a_copy_is_older_than_a_package_whose_lesson_changed(two_lessons):
    two_lessons.fill_work()
    assert two_lessons.older_copies() == ()
    mine = two_lessons.work / "02_softmax.ipynb"
    notebook = json.loads(mine.read_text())
    notebook["metadata"]["flashlearn"]["built"] = "of last year"
    mine.write_text(json.dumps(notebook))
    assert [lesson.stem for lesson in two_lessons.older_copies()] == ["02_softmax"]


def test_a_fingerprint_is_worked_out_once_until_the_source_or_what_it_includes_changes(tmp_path, monkeypatch):
    source = tmp_path / "flashlearn/lessons/lesson_00_tour/notebook.py"
    kernel = tmp_path / "kernel.py"
    source.parent.mkdir(parents=True)
    source.write_text("# %% [markdown]\n# # A tour\n\n# %%\n# INCLUDE: kernel.py:twice\n")
    kernel.write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.setattr(packaged_lessons, "PACKAGE", tmp_path / "flashlearn")
    monkeypatch.setattr(packaged_lessons, "ROOT", tmp_path)
    made = []
    make = packaged_lessons.notebook
    monkeypatch.setattr(packaged_lessons, "notebook", lambda *a, **k: made.append(a) or make(*a, **k))
    remembered = tmp_path / "remembered.json"
    first = packaged_lessons.current_fingerprint("00_tour", remembered)
    assert packaged_lessons.current_fingerprint("00_tour", remembered) == first and len(made) == 1
    kernel.write_text("def twice(x):\n    return x + x\n")
    second = packaged_lessons.current_fingerprint("00_tour", remembered)
    assert second != first and len(made) == 2
    remembered.write_text('{"00_tour": 3}')
    assert packaged_lessons.current_fingerprint("00_tour", remembered) == second and len(made) == 3
