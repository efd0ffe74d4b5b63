"""Collecting: each shape of folder gives the same students, and nothing leads out of it."""

import io
import os
import stat
import zipfile
from pathlib import Path

import pytest

from flashlearn.classroom.collecting.collect import collect, submissions
from flashlearn.classroom.collecting.file_tree import archive
from flashlearn.course.files import CourseError
from tests.classroom.small_class import hand_in, handout, notebook, work

CONTENT = notebook(work("00_first", one="pass"), "00_first")

SHAPES = {
    "a folder for each student": ["Ann Lee/00_first.ipynb", "Bob/deeper/00_first.ipynb"],
    "Moodle": ["Ann Lee_101_assignsubmission_file_/00_first.ipynb", "Bob_102_assignsubmission_file/a.ipynb"],
    "Canvas": ["leeann_101_9001_00_first.ipynb", "bob_LATE_102_9002_00_first-1.ipynb"],
    "nbgrader": ["submitted/Ann Lee/week1/00_first.ipynb", "submitted/Bob/week1/00_first.ipynb"],
    "Gradescope": ["submission_101/00_first.ipynb", "submission_102/00_first.ipynb"],
}
METADATA = """
submission_101:
  :submitters:
  - :name: Ann Lee
    :sid: '7'
    :email: ann@example.org
submission_102:
  :submitters:
  - :name: Bob
"""


def made(shape: str) -> dict[str, bytes]:
    files = {path: CONTENT for path in SHAPES[shape]}
    return files | ({"submission_metadata.yml": METADATA.encode()} if shape == "Gradescope" else {})


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for path, content in files.items():
            opened.writestr(path, content)
    return buffer.getvalue()


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


def lessons_of(collected) -> list[tuple[str, str, str]]:
    return [
        (work.student.name, lesson, submission.broken)
        for work in collected.students
        for lesson, submission in submissions(work, handout())
    ]


@pytest.mark.parametrize("packed", ["folder", "zip", "zip of one folder"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_its_students(shape: str, packed: str, tmp_path: Path):
    top = "submissions/" if packed == "zip of one folder" else ""
    files = {top + path: content for path, content in made(shape).items()}
    if packed == "folder":
        source = write(tmp_path / "in", files)
    else:
        source = tmp_path / "in.zip"
        source.write_bytes(zipped(files))
    collected = collect(source)
    assert collected.shape == shape and collected.refused == ()
    names = [work.student.name for work in collected.students]
    assert names == (["bob", "leeann"] if shape == "Canvas" else ["Ann Lee", "Bob"])
    assert {(lesson, why) for _, lesson, why in lessons_of(collected)} == {
        ("00", ""),
        ("01", "01_second.ipynb was not handed in."),
    }


def test_numbers_of_a_place_are_kept_and_tell_namesakes_apart(tmp_path: Path):
    paths = ["Ann_1_assignsubmission_file_/a.ipynb", "Ann_2_assignsubmission_file_/a.ipynb"]
    found = collect(write(tmp_path, dict.fromkeys(paths, CONTENT))).students
    assert [(w.student.name, w.student.ids["moodle"]) for w in found] == [("Ann (1)", "1"), ("Ann (2)", "2")]


def test_a_group_of_gradescopes_gets_its_work_each(tmp_path: Path):
    both = METADATA.replace("  - :name: Bob", "  - :name: Bob\n  - :name: Cem")
    files = {**made("Gradescope"), "submission_metadata.yml": both.encode()}
    assert [w.student.name for w in collect(write(tmp_path, files)).students] == ["Ann Lee", "Bob", "Cem"]


def test_of_several_copies_the_last_try_is_graded(tmp_path: Path):
    again = notebook(work("00_first", one="wrong"), "00_first")
    write(tmp_path, {"Ann/00_first.ipynb": CONTENT, "Ann/00_first-1.ipynb": again})
    (one,) = collect(tmp_path).students
    (_, submission), _ = submissions(one, handout())
    assert submission.files == ("Ann/00_first-1.ipynb",)
    assert "There are 2 copies of 00_first.ipynb: 00_first-1.ipynb was graded." in submission.notes


def test_a_students_own_zip_is_looked_into(tmp_path: Path):
    inside = zipped({"work/00_first.ipynb": CONTENT})
    write(tmp_path, {"Ann/work.zip": inside, "Bob/work.zip": b"PK nothing"})
    assert lessons_of(collect(tmp_path))[0] == ("Ann", "00", "")


def test_a_student_with_no_notebook_is_still_there(tmp_path: Path):
    write(tmp_path, {"Ann/answers.pdf": b"%PDF"})
    (tmp_path / "Bob").mkdir()
    found = lessons_of(collect(tmp_path))
    assert found[0][2].startswith("00_first.ipynb was not handed in. answers.pdf is not a notebook")
    assert found[2] == ("Bob", "00", "00_first.ipynb was not handed in.")


@pytest.mark.parametrize("file", ["00_first.py", "all.zip/more.zip", "notes.docx"])
def test_what_is_no_notebook_is_named(tmp_path: Path, file: str):
    outer, _, inner = file.partition("/")
    content = zipped({inner: zipped({"00_first.ipynb": CONTENT})}) if inner else b"def one(x): return x"
    write(tmp_path, {f"Ann/{outer}": content})
    why = lessons_of(collect(tmp_path))[0][2]
    assert (inner or outer) in why and "hand in the" in why


def test_a_copy_that_was_worked_in_is_graded_and_not_the_untouched_original(tmp_path: Path):
    untouched = notebook(work("00_first"), "00_first")
    write(tmp_path, {"Ann/00_first.ipynb": untouched, "Ann/00_first-Copy1.ipynb": CONTENT})
    write(tmp_path, {"Bob/00_first.ipynb": CONTENT, "Bob/00_first-Copy1.ipynb": untouched})
    for work_of, file in zip(collect(tmp_path).students, ("-Copy1.ipynb", "first.ipynb"), strict=True):
        assert dict(submissions(work_of, handout()))["00"].files[0].endswith(file)


def test_a_notebook_with_both_lessons_is_graded_for_both(tmp_path: Path):
    both = [*work("00_first", one="pass"), *work("01_second", three="pass")]
    write(tmp_path, {"Ann/mine.ipynb": notebook(both)})
    found = dict(submissions(collect(tmp_path).students[0], handout()))
    assert {cell.exercise for one in found.values() for cell in one.cells} >= {"one", "three"}
    assert not any(one.broken for one in found.values())


def test_links_and_pipes_are_refused_and_never_opened(tmp_path: Path):
    secret = hand_in(tmp_path / "outside", "teacher", one="pass")
    folder = tmp_path / "in"
    hand_in(folder, "Ann", one="pass")
    (folder / "Eve").mkdir()
    (folder / "Eve" / "00_first.ipynb").symlink_to(secret)
    (folder / "Eve" / "zero.ipynb").symlink_to("/dev/zero")
    os.mkfifo(folder / "Eve" / "pipe.ipynb")
    (folder / "Mallory").symlink_to(secret.parent)
    collected = collect(folder)
    assert [work.student.name for work in collected.students] == ["Ann", "Eve"]
    assert len(collected.refused) == 4 and all("left out" in said for said in collected.refused)


def test_an_archive_gives_nothing_from_outside_and_nothing_that_explodes():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name in ("../up.ipynb", "/etc/x.ipynb", "a\\..\\b.ipynb", "C:/x.ipynb"):
            opened.writestr(name, "{}")
        link = zipfile.ZipInfo("Eve/link.ipynb")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        opened.writestr(link, "/etc/passwd")
        opened.writestr("Eve/bomb.ipynb", b"\0" * 30_000_000)
        opened.writestr("Eve/small bomb.ipynb", b"\0" * 5_000_000)
        opened.writestr("Ann/00_first.ipynb", CONTENT)
    tree = archive(buffer.getvalue())
    assert [entry.path for entry in tree.entries] == ["Ann/00_first.ipynb"]
    assert len(tree.refused) == 7


def test_a_folder_without_students_is_a_sentence(tmp_path: Path):
    with pytest.raises(CourseError, match="No student's work"):
        collect(tmp_path)
    with pytest.raises(CourseError, match="neither a folder nor a zip"):
        collect(Path(__file__))
