"""`flashlearn class`, from a course to feedback, as a teacher types it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from flashlearn.classroom.handout import read_cells
from flashlearn.classroom.job import Grading
from flashlearn.classroom.workers import pool
from flashlearn.cli import app
from flashlearn.course.packaged_lessons import ROOT
from tests.classroom.small_class import notebook
from tests.classroom.test_class_run import Inline


class InlinePool(Inline):
    """The pool's stand-in, which starts no process."""

    def __init__(self, grading: Grading, workers: int = 0): ...

    def __enter__(self) -> InlinePool:
        return self

    def __exit__(self, *_error: object) -> None: ...


@pytest.fixture(autouse=True)
def teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLASHLEARN_COURSE", str(ROOT))
    monkeypatch.setattr(pool, "Pool", InlinePool)
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> SimpleNamespace:
    result = CliRunner().invoke(app, ["class", *arguments], prog_name="flashlearn")
    assert "Traceback" not in result.output, result.output
    return SimpleNamespace(code=result.exit_code, words=" ".join(result.output.split()))


def solved(student: str, mark: str = "pass") -> None:
    cells = [
        (i, f"{text}\n# mark: {mark}" if exercise else text, exercise)
        for i, text, exercise in read_cells((ROOT / "solutions" / "00_tour.ipynb").read_bytes()).code
    ]
    from flashlearn.classroom.handout import NotebookCell

    path = Path("submissions") / student / "00_tour.ipynb"
    path.parent.mkdir(parents=True)
    path.write_bytes(notebook([NotebookCell(*cell) for cell in cells], "00_tour"))


def test_from_a_course_to_feedback():
    assert "3 exercises, 3 points, in handout." in run("release", "--lessons", "00").words
    solved("Ann")
    solved("Bob", "wrong")
    graded = run("grade", "submissions")
    assert graded.code == 0
    assert "2 students, from a folder for each student. 2 notebooks graded." in graded.words
    assert "0 notebooks graded, 2 graded before." in run("grade", "submissions").words
    assert "Feedback for 2 students is in feedback." in run("feedback").words
    for place in ("csv", "gradescope", "prairielearn"):
        assert "The grades are in" in run("export", place, "--out", place).words
    assert Path("csv").is_file() and Path("gradescope/Ann/results.json").is_file()
    assert "The report is report.html." in run("report").words
    assert "3 of 3 points" in Path("feedback/Ann.md").read_text()
    assert "row\\_sum adds `x` twice." in Path("feedback/Bob.md").read_text()


def test_what_a_teacher_forgets_is_a_sentence_and_exit_code_2():
    for arguments, said in {
        ("grade", "submissions"): "There is no handout in handout",
        ("feedback",): "There is no gradebook gradebook.sqlite",
        ("release", "--lessons", ","): "Say which lessons are handed out",
        ("release", "--lessons", "00", "--seed-file", "nowhere"): "The seed file nowhere cannot be read",
    }.items():
        found = run(*arguments)
        assert (found.code, said in found.words) == (2, True), found.words


def test_gpus_take_unsafe():
    refused = run("grade", "submissions", "--gpus", "1")
    assert refused.code == 2 and "needs `--unsafe`" in refused.words


def test_ctrl_c_keeps_what_was_graded_and_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch):
    run("release", "--lessons", "00")
    solved("Ann")
    solved("Bob", "wrong")

    def interrupted(self, jobs, note=None):
        yield next(Inline.run(self, jobs))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(InlinePool, "run", interrupted)
        stopped = run("grade", "submissions")
    assert stopped.code == 130 and "the same command continues from there" in stopped.words
    assert "1 notebook graded, 1 graded before." in run("grade", "submissions").words


def test_the_doctor_of_the_class_says_whether_untrusted_code_can_be_graded(monkeypatch):
    from flashlearn.classroom.sandbox import doctor

    holds = doctor.Proof("together", True, "opens a socket", True, "PermissionError")
    monkeypatch.setattr(doctor, "doctor", lambda: (holds,))
    assert run("doctor").code == 0
    broken = doctor.Proof("seccomp", True, "opens a socket", False, "it worked")
    monkeypatch.setattr(doctor, "doctor", lambda: (broken, holds))
    result = run("doctor")
    assert result.code == 1 and "BROKEN" in result.words
    monkeypatch.setattr(
        doctor, "doctor", lambda: (doctor.Proof("together", False, detail="no seccomp here"),)
    )
    assert run("doctor").code == 1
