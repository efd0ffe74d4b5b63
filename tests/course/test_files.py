"""The course on disk: which folder it is, its lessons, and the learner's copies in work/."""

import json

import pytest

from flashlearn.course import files as module
from flashlearn.course.files import Course, CourseError, Lesson, exercise_cells, root, unknown, unused
from tests.course.synthetic_course import lesson, make_course


@pytest.fixture
def course(tmp_path):
    return make_course(
        tmp_path / "course",
        {
            "00_tour": lesson("program_ids", "row_sum", title="The tour"),
            "02_softmax": lesson("softmax_forward", title="Softmax and its Jacobian"),
        },
    )


def test_the_root_is_the_nearest_folder_upwards_with_lessons_and_package(tmp_path, monkeypatch):
    monkeypatch.delenv("FLASHLEARN_COURSE", raising=False)
    for folder in ("clone/notebooks", "clone/flashlearn", "clone/work/old", "elsewhere/notebooks"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "clone" / "work" / "old")
    assert root() == tmp_path / "clone"
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert root() == tmp_path / "elsewhere"


def test_a_folder_where_lessons_were_put_into_work_is_a_root_too(tmp_path, monkeypatch):
    monkeypatch.delenv("FLASHLEARN_COURSE", raising=False)
    for folder in ("mine/work/old", "analysis/work"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "mine/work/00_tour.ipynb").touch()
    (tmp_path / "analysis/work/01_exploration.ipynb").touch()  # nobody's lesson
    for inside in ("mine", "mine/work", "mine/work/old"):
        monkeypatch.chdir(tmp_path / inside)
        assert root() == tmp_path / "mine"
    monkeypatch.chdir(tmp_path / "analysis/work")
    assert root() == tmp_path / "analysis/work"


def test_the_environment_can_name_another_course(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_COURSE", str(tmp_path))
    assert Course.here() == Course(tmp_path)


def test_lessons_come_in_order_with_title_number_and_exercises(course):
    assert course.lessons() == (
        Lesson("00_tour", "The tour", ("program_ids", "row_sum")),
        Lesson("02_softmax", "Softmax and its Jacobian", ("softmax_forward",)),
    )
    assert [lesson.number for lesson in course.lessons()] == ["00", "02"]
    assert course.exercises()["softmax_forward"].stem == "02_softmax"


@pytest.mark.parametrize("text", ["02", "2", "02_softmax", "02_softmax.ipynb", "work/02_softmax.ipynb"])
def test_a_lesson_is_found_by_number_stem_or_file(course, text):
    assert course.find_lesson(text).stem == "02_softmax"


def test_what_is_no_lesson_is_not_found(course):
    assert course.find_lesson("3") is None
    assert course.find_lesson("softmax") is None


@pytest.mark.parametrize("text", ["{", "[]", "", '{"cells": [3]}'])
def test_a_lesson_that_is_damaged_is_said_in_a_sentence(course, text):
    (course.notebooks / "00_tour.ipynb").write_text(text)
    with pytest.raises(CourseError, match=r"00_tour\.ipynb is damaged"):
        course.lessons()


def test_work_is_filled_once_and_nothing_in_it_is_overwritten(course):
    assert [path.name for path in course.fill_work()] == ["00_tour.ipynb", "02_softmax.ipynb"]
    mine = course.work / "00_tour.ipynb"
    mine.write_text("mine")
    (course.notebooks / "00_tour.ipynb").write_text(lesson("program_ids", title="A newer tour"))
    (course.notebooks / "03_attention.ipynb").write_text(lesson("attention_dv_dp"))
    assert [path.name for path in course.fill_work()] == ["03_attention.ipynb"]
    assert mine.read_text() == "mine"


def test_a_copy_that_fails_halfway_leaves_nothing_behind(course, monkeypatch):
    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.Path, "read_bytes", full)
    with pytest.raises(CourseError, match="no space left on device"):
        course.fill_work()
    assert list(course.work.iterdir()) == []


def test_a_reset_gives_a_fresh_copy_and_keeps_each_old_one(course):
    course.fill_work()
    (tour, _) = course.lessons()
    for text in ("first try", "second try"):
        (course.work / "00_tour.ipynb").write_text(text)
        fresh, kept = course.reset(tour)
        assert fresh.read_bytes() == (course.notebooks / "00_tour.ipynb").read_bytes()
        assert kept.parent == course.work / "old" and kept.read_text() == text
        assert kept.name.startswith("00_tour.2") and kept.suffix == ".ipynb"
    assert len(list((course.work / "old").iterdir())) == 2


def test_a_reset_without_a_copy_just_makes_one(course):
    fresh, kept = course.reset(course.lessons()[1])
    assert fresh.exists() and kept is None


def with_fingerprint(text: str, built: str) -> str:
    """The notebook, as if authoring had made it from the text with this fingerprint."""
    notebook = json.loads(text)
    notebook["metadata"]["flashlearn"] = {"lesson": "any", "built": built}
    return json.dumps(notebook)


def test_a_copy_is_older_if_its_lesson_has_another_fingerprint_by_now(course):
    (tour, softmax) = course.lessons()
    for today in (tour, softmax):
        given = course.notebooks / f"{today.stem}.ipynb"
        given.write_text(with_fingerprint(given.read_text(), "before"))
    course.fill_work()
    assert course.older_copies() == ()
    mine = course.work / "00_tour.ipynb"
    mine.write_text(mine.read_text().replace("return x", "return x + 1"))
    assert course.older_copies() == (), "what the learner wrote makes no copy older"
    given = course.notebooks / "00_tour.ipynb"
    given.write_text(given.read_text().replace("before", "after"))
    assert course.older_copies() == (tour,)
    course.reset(tour)
    assert course.older_copies() == ()


@pytest.mark.parametrize("text", ["{", "[]", lesson("program_ids")])
def test_a_copy_that_does_not_say_what_it_was_made_from_is_not_called_older(course, text):
    given = course.notebooks / "00_tour.ipynb"
    given.write_text(with_fingerprint(given.read_text(), "today"))
    course.work.mkdir()
    (course.work / "00_tour.ipynb").write_text(text)
    assert course.older_copies() == ()


def test_an_exercises_cell_is_known_by_its_id():
    cells = [{"id": "ex-row_sum"}, {"id": "3f2a"}, {}, {"id": "ex-scaled_add"}]
    assert exercise_cells({"cells": cells}) == ("row_sum", "scaled_add")


def test_an_unknown_name_is_answered_with_those_that_look_like_it():
    names = ["softmax_forward", "softmax_backward", "row_sum"]
    assert "did you mean softmax_forward or softmax_backward?" in unknown(
        "exercise", "softmax_forwrad", names
    )
    assert "did you mean row_sum?" in unknown("exercise", "sum", names)
    assert "flashlearn status" in unknown("exercise", "zzz", names)


def test_an_unused_name_never_replaces_a_file(tmp_path):
    (tmp_path / "a.txt").touch()
    (tmp_path / "a-2.txt").touch()
    assert unused(tmp_path / "a.txt") == tmp_path / "a-3.txt"
    assert unused(tmp_path / "b.txt") == tmp_path / "b.txt"
