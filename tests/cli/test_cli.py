"""The command line: what each command prints, and its exit code."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from typer.testing import CliRunner

import flashlearn.lessons
from flashlearn.bench.record import save
from flashlearn.cli import app, headless
from flashlearn.cli import lab as lab_module
from flashlearn.course import packaged_lessons
from flashlearn.course.files import Course
from flashlearn.course.progress import Progress
from flashlearn.outcome import Status
from tests.bench.synthetic import synthetic_record
from tests.course.synthetic_course import lesson, make_course, notebook, verdict

ROOT = Path(__file__).parents[2]


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    course = make_course(
        tmp_path / "course",
        {
            "00_tour": lesson("program_ids", "row_sum", title="The tour"),
            "02_softmax": lesson("softmax_forward", "softmax_backward", status="TODO", title="Softmax"),
        },
    )
    course.fill_work()
    monkeypatch.setenv("FLASHLEARN_COURSE", str(course.root))
    monkeypatch.chdir(tmp_path)
    return course


def run(*arguments: str, env: dict | None = None) -> SimpleNamespace:
    """Run the command; `words` is all it printed, with line breaks and columns closed up."""
    result = CliRunner().invoke(app, list(arguments), env=env, prog_name="flashlearn")
    assert "Traceback" not in result.output or "--debug" in arguments, result.output
    words = " ".join(result.output.split())
    return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr, words=words)


# status


def test_status_shows_lessons_exercises_and_what_is_next(course):
    Progress().attempt("program_ids", Status.PASS, 0.1)
    Progress().attempt("row_sum", Status.WRONG, 0.1)
    Progress().hint_taken("row_sum", 1)
    shown = run("status")
    assert shown.code == 0
    assert "1 of 4 exercises have passed." in shown.words
    assert "00_tour 1 of 2 The tour" in shown.words and "02_softmax 0 of 2 Softmax" in shown.words
    assert "program_ids passed 2" in shown.words
    assert "row_sum tried, 1 attempt, 1 hint" in shown.words
    assert f"Next: row_sum in {course.work}/00_tour.ipynb; `flashlearn lab` opens it." in shown.words


def test_status_tells_the_exercises_of_lessons_that_are_begun_and_of_all_when_asked(course):
    shown = run("status")
    assert "row_sum not started" in shown.words and "softmax_forward" not in shown.words
    assert "`flashlearn status --all` shows the exercises of every lesson." in shown.words
    shown = run("status", "--all")
    assert "softmax_forward not started" in shown.words and "--all" not in shown.words
    Progress().hint_taken("softmax_forward", 1)
    assert "softmax_forward not started, 1 hint" in run("status").words


def test_status_goes_on_where_progress_can_be_neither_read_nor_written(course):
    (Progress().path / "in the way").mkdir(parents=True)
    shown = run("status")
    assert shown.code == 0 and "0 of 4" in shown.words and "could not be read or written" in shown.err


def test_status_as_json_says_the_same(course):
    Progress().attempt("program_ids", Status.PASS, 0.1)
    status = json.loads(run("status", "--json").out)
    assert (status["passed"], status["exercises"]) == (1, 4)
    assert status["next"] == {"lesson": "00_tour", "exercise": "row_sum"}
    first = status["lessons"][0]["exercises"][0]
    assert first["name"] == "program_ids" and first["passed"] and first["attempts"] == 1


def test_status_says_when_everything_has_passed(course):
    for name in course.exercises():
        Progress().attempt(name, Status.PASS, 0.1)
    words = run("status").words
    assert "All 4 exercises have passed." in words and "Nothing left to do." in words


def test_status_goes_on_with_a_damaged_progress_file(course):
    Progress().path.parent.mkdir()
    Progress().path.write_text("not a database " * 100)
    shown = run("status")
    assert shown.code == 0 and "damaged" in shown.err and "0 of 4" in shown.words


def test_status_of_an_empty_folder_shows_the_package_s_lessons_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_COURSE", str(tmp_path / "empty"))
    shown = run("status")
    exercises = len(flashlearn.lessons.lessons()["00"])
    assert shown.code == 0 and f"0 of {exercises} Tour: from an empty cell" in shown.words
    assert "`flashlearn lab` copies the lesson there" in shown.words and not (tmp_path / "empty").exists()


def test_a_package_without_lessons_is_said_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_COURSE", str(tmp_path))
    monkeypatch.setattr(packaged_lessons, "PACKAGE", tmp_path)
    for command in (["status"], ["check"], ["check", "02"], ["reset", "02"], ["lab"]):
        shown = run(*command)
        assert shown.code == 2 and f"There are no lessons in {tmp_path}: install flashlearn" in shown.err


def make_older(course: Course, *stems: str) -> None:
    """The learner's copies of these lessons, as if they had been made from an older text of them."""
    for stem in stems:
        for folder, built in ((course.notebooks, "today"), (course.work, "before")):
            path = folder / f"{stem}.ipynb"
            text = json.loads(path.read_text())
            text["metadata"]["flashlearn"] = {"lesson": stem, "built": built}
            path.write_text(json.dumps(text))


def test_status_names_the_copies_of_older_lessons_and_the_command(course):
    assert "older" not in run("status").words
    make_older(course, "02_softmax")
    sentence = "Your copy of lesson 02 was made from an older version of the lesson: `flashlearn reset 02`"
    assert sentence in run("status").words
    assert json.loads(run("status", "--json").out)["older_copies"] == ["02_softmax"]
    make_older(course, "00_tour")
    assert "lessons 00 and 02 were made from older versions" in run("status").words
    for number in ("00", "02"):
        run("reset", number)
    assert "older" not in run("status").words


# check


def test_check_of_a_lesson_prints_its_verdicts_and_leaves_the_file_as_it_is(course):
    before = (course.work / "00_tour.ipynb").read_bytes()
    shown = run("check", "00", env={"FLASHLEARN_STRICT": "1"})
    assert shown.code == 0
    assert "program_ids passed All cases pass. row_sum passed All cases pass." in shown.words
    assert "2 of 2 exercises passed." in shown.words
    assert (course.work / "00_tour.ipynb").read_bytes() == before


MIXED = notebook(
    "def softmax_forward(x):\n    return x",
    verdict("softmax_forward", "TODO", "Not started."),
    verdict("softmax_forward", "WRONG", "The maximum is missing."),
    "print('shown')\n1 / 0",
    "raise NameError('on purpose')",
    "while True: pass",
    verdict("softmax_backward", "NEEDS_GPU", "It needs a Hopper GPU."),
    "import os; assert 'FLASHLEARN_STRICT' not in os.environ",
    ids={0: "ex-softmax_forward"},
)


def test_check_goes_on_after_cells_that_raise_or_loop_and_reports_them(course):
    cells = json.loads(MIXED)
    cells["cells"][6]["metadata"]["tags"] = ["raises-exception"]
    (course.work / "02_softmax.ipynb").write_text(json.dumps(cells))
    shown = run("check", "--timeout", "3", "02_softmax", env={"FLASHLEARN_STRICT": "1"})
    assert shown.code == 1
    assert "softmax_forward wrong The maximum is missing." in shown.words  # the last verdict counts
    assert "softmax_backward needs a GPU It needs a Hopper GPU." in shown.words
    assert "Cell 6 (print('shown')) raised ZeroDivisionError: division by zero" in shown.words
    assert "Cell 8 (while True: pass) did not finish within 3 s and was stopped." in shown.words
    assert "on purpose" not in shown.words and "AssertionError" not in shown.words
    assert "0 of 2 exercises passed; 1 cannot be checked without a GPU" in shown.words


def test_a_name_runs_its_lesson_as_far_as_needed_and_a_gpu_that_is_missing_is_no_failure(course):
    text = notebook(
        verdict("softmax_forward", "NEEDS_GPU"), "while True: pass", verdict("softmax_backward", "WRONG")
    )
    (course.work / "02_softmax.ipynb").write_text(text)
    shown = run("check", "softmax_forward", "row_sum", "--json")
    assert shown.code == 0
    found = json.loads(shown.out)
    assert found["passed"]
    assert [[e["exercise"] for e in n["exercises"]] for n in found["notebooks"]] == [
        ["softmax_forward"],
        ["row_sum"],
    ]
    assert [n["problems"] for n in found["notebooks"]] == [[], []]


def test_a_dead_process_gives_a_sentence_and_keeps_the_verdicts_before_it(course):
    text = notebook(verdict("program_ids"), "import os; os._exit(1)", verdict("row_sum"))
    (course.work / "00_tour.ipynb").write_text(text)
    shown = run("check", "00_tour")
    assert shown.code == 1
    assert "program_ids passed" in shown.words
    assert "row_sum not checked The run ended before its check." in shown.words
    assert "Cell 4 (import os; os._exit(1)) ended its Python process" in shown.words


def test_a_cell_that_does_not_give_way_ends_the_run_with_a_sentence(course, monkeypatch):
    monkeypatch.setattr(headless, "START_SECONDS", 1)
    stubborn = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: time.sleep(1)"
    (course.work / "00_tour.ipynb").write_text(notebook(stubborn, verdict("row_sum")))
    shown = run("check", "00", "--timeout", "2")
    assert shown.code == 1
    assert "did not finish within 2 s and was stopped. It could not be interrupted" in shown.words


@pytest.mark.parametrize("python", ["/nowhere/python", "false"])
def test_a_process_that_does_not_start_gives_a_sentence(course, monkeypatch, python):
    monkeypatch.setattr(headless.sys, "executable", python)
    shown = run("check", "00")
    assert shown.code == 1
    assert "The notebook's Python process did not start" in shown.words


def test_a_notebook_that_cannot_be_read_gives_a_sentence_and_the_others_are_checked(course):
    (course.work / "02_softmax.ipynb").write_text("{ this is no notebook")
    shown = run("check")
    assert shown.code == 2
    assert "02_softmax.ipynb cannot be read as a notebook" in shown.words
    assert "2 of 2 exercises passed." in shown.words


RECORDS = """
from flashlearn.outcome import Status
from flashlearn.course.progress import Progress, append_verdict
Progress().attempt("row_sum", Status.PASS, 0.1)
append_verdict({"exercise": "row_sum", "status": Status.PASS, "passed": True, "sentence": "All pass."})
"""


def test_only_the_learners_own_notebooks_count_as_progress(course, tmp_path):
    elsewhere = tmp_path / "anna" / "00_tour.ipynb"
    elsewhere.parent.mkdir()
    elsewhere.write_text(notebook(RECORDS, verdict("program_ids")))
    assert run("check", str(elsewhere)).code == 0
    assert Progress().passed() == {}
    (course.work / "00_tour.ipynb").write_text(elsewhere.read_text())
    assert run("check", "00").code == 0
    assert list(Progress().passed()) == ["row_sum"]


def test_an_exercise_whose_check_was_deleted_is_not_passed(course):
    (course.work / "00_tour.ipynb").write_text(notebook(verdict("row_sum")))
    shown = run("check", "00_tour.ipynb")
    assert shown.code == 1
    assert 'is there still a cell with `flashlearn.check("program_ids", program_ids)`?' in shown.words


def test_a_notebook_without_exercises_is_said(course, tmp_path):
    (tmp_path / "notes.ipynb").write_text(notebook("x = 1"))
    shown = run("check", "notes.ipynb")
    assert shown.code == 2 and "has no exercises" in shown.words


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("row_sums", "There is no lesson or exercise called 'row_sums': did you mean row_sum?"),
        ("02_softmx", "did you mean 02_softmax"),
        ("papers/x.ipynb", "There is no notebook papers/x.ipynb."),
    ],
)
def test_an_unknown_name_is_answered_with_close_ones_before_anything_runs(course, what, sentence):
    shown = run("check", "00", what)
    assert shown.code == 2 and sentence in shown.words and "passed" not in shown.words


def test_check_before_work_is_filled_names_the_command_that_fills_it(course):
    for path in course.work.iterdir():
        path.unlink()
    for what in ([], ["00"], ["row_sum"]):
        shown = run("check", *what)
        assert shown.code == 2 and "`flashlearn lab`" in shown.err


# hint and reset


def test_hint_shows_the_next_step_and_knows_close_names(course, monkeypatch):
    known = {"row_sum": SimpleNamespace(name="row_sum", lesson="00")}
    monkeypatch.setattr(packaged_lessons, "hints", lambda exercise: ("One.", "Two [2].", "Three."))
    monkeypatch.setattr(flashlearn.lessons, "listed", lambda: known)
    assert "Hint 1 of 3 for row_sum (the concept): One." in run("hint", "row_sum").out
    assert "Hint 2 of 3 for row_sum (the shape): Two [2]." in run("hint", "row_sum").out
    assert "One." in run("hint", "row_sum", "--step", "1").out
    shown = run("hint", "row_summ")
    assert shown.code == 2 and "did you mean row_sum?" in shown.err


def test_reset_gives_a_fresh_copy_and_says_where_the_old_one_is(course):
    (course.work / "00_tour.ipynb").write_text("mine")
    shown = run("reset", "00")
    assert shown.code == 0
    (kept,) = (course.work / "old").iterdir()
    assert str(kept) in shown.words and kept.read_text() == "mine"


def test_reset_of_an_exercise_changes_its_cell_alone_and_of_nonsense_names_what_is_close(course):
    path = course.work / "00_tour.ipynb"
    given = path.read_text()
    path.write_text(given.replace("def row_sum(x):\\n    return x", "def row_sum(x):\\n    return mine"))
    assert "mine" in path.read_text()
    shown = run("reset", "row_sum")
    (kept,) = (course.work / "old").iterdir()
    assert shown.code == 0 and str(kept) in shown.words and "Reload Notebook from Disk" in shown.words
    assert json.loads(path.read_text()) == json.loads(given) and "mine" in kept.read_text()
    for name, close in (("00_tuor", "00_tour"), ("row_summ", "row_sum")):
        shown = run("reset", name)
        assert shown.code == 2 and f"did you mean {close}?" in shown.err


def test_a_solution_is_shown_after_an_attempt_or_when_asked_for_anyway():
    shown = run("solution", "softmax_vjp")
    assert shown.code == 0 and "`flashlearn solution softmax_vjp --anyway`" in shown.words
    assert "multiply_elementwise" not in shown.words and not Progress().solutions()
    assert "multiply_elementwise" in run("solution", "softmax_vjp", "--anyway").words
    assert Progress().solutions() == {"softmax_vjp"}
    shown = run("solution", "softmax_vpj")
    assert shown.code == 2 and "did you mean softmax_vjp" in shown.err


# lab


@pytest.fixture
def started(monkeypatch) -> list:
    """What `lab` would have become, instead of becoming it."""
    calls = []
    monkeypatch.setattr(lab_module.os, "execve", lambda path, argv, env: calls.append((argv, env)))
    monkeypatch.setattr(lab_module, "is_free", lambda port: port not in (8888, 9000))
    for name in ("PORT", "JUPYTER_TOKEN", "BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return calls


def test_lab_fills_work_once_and_opens_the_next_lesson_there(course, started):
    (course.work / "00_tour.ipynb").write_text("mine")
    (course.work / "02_softmax.ipynb").unlink()
    for name in ("program_ids", "row_sum"):
        Progress().attempt(name, Status.PASS, 0.1)
    shown = run("lab")
    ((argv, env),) = started
    assert (course.work / "02_softmax.ipynb").exists()
    assert (course.work / "00_tour.ipynb").read_text() == "mine"
    assert f"--ServerApp.root_dir={course.work}" in argv and "--ServerApp.ip=127.0.0.1" in argv
    assert "1 lesson copied" in shown.words
    assert f"http://127.0.0.1:8889/lab/tree/02_softmax.ipynb?token={env['JUPYTER_TOKEN']}" in shown.words


def test_lab_opens_the_page_that_shows_the_way_until_lesson_00_is_begun(course, started):
    assert "/lab/tree/START.md?" in run("lab").words
    page = (course.work / "START.md").read_text()
    assert "0 of 4" in page and 'href="00_tour.ipynb"' in page
    Progress().attempt("softmax_forward", Status.WRONG, 0.1)
    assert "/lab/tree/START.md?" in run("lab").words
    Progress().attempt("program_ids", Status.TODO, 0.1)
    assert "/lab/tree/00_tour.ipynb?" in run("lab").words


def test_lessons_fills_a_folder_for_any_front_end_and_starts_nothing(course, started, tmp_path, monkeypatch):
    few = {"00_tour": packaged_lessons.sources()["00_tour"]}
    monkeypatch.setattr(packaged_lessons, "sources", lambda: few)
    monkeypatch.delenv("FLASHLEARN_COURSE")
    shown = run("lessons", str(tmp_path / "new" / "place"))
    assert shown.code == 0 and not started
    assert (tmp_path / "new/place/work/00_tour.ipynb").exists()
    assert (tmp_path / "new/place/work/solutions/00_tour.ipynb").exists()
    assert "1 lesson copied" in shown.words and sys.executable in shown.words
    (tmp_path / "new/place/work/00_tour.ipynb").write_text("mine")
    assert "All lessons are in" in run("lessons", str(tmp_path / "new" / "place")).words
    assert (tmp_path / "new/place/work/00_tour.ipynb").read_text() == "mine"


def test_lessons_without_a_folder_fills_the_course_s_own_and_a_file_is_no_folder(course, tmp_path):
    (course.work / "00_tour.ipynb").unlink()
    assert "1 lesson copied" in run("lessons").words and (course.work / "00_tour.ipynb").exists()
    (tmp_path / "file").write_text("")
    shown = run("lessons", str(tmp_path / "file"))
    assert shown.code == 2 and "cannot be made" in shown.words


def test_a_file_of_the_learner_s_with_the_page_s_name_is_left_alone(course, started):
    (course.work / "START.md").write_text("my notes")
    assert "/lab/tree/00_tour.ipynb?" in run("lab").words
    assert (course.work / "START.md").read_text() == "my notes"


def test_lab_names_the_copies_of_older_lessons(course, started):
    make_older(course, "00_tour")
    shown = run("lab")
    assert "Your copy of lesson 00 was made from an older version" in shown.words and started


def test_lab_says_how_the_address_is_opened(course, started, monkeypatch):
    monkeypatch.setattr(lab_module, "has_browser", lambda: False)
    assert "Open that address; Ctrl-C here stops JupyterLab." in run("lab").words
    monkeypatch.setattr(lab_module, "has_browser", lambda: True)
    assert "Your browser opens that address" in run("lab").words
    assert "Open that address" in run("lab", "--no-browser").words


def test_the_token_is_long_and_not_on_the_command_line(course, started):
    run("lab")
    ((argv, env),) = started
    assert len(env["JUPYTER_TOKEN"]) >= 32
    assert not any(env["JUPYTER_TOKEN"] in argument for argument in argv)


def test_a_default_port_that_is_taken_is_replaced_and_said(course, started):
    shown = run("lab")
    assert "Port 8888 is taken by another program: this one uses 8889." in shown.words
    assert "--ServerApp.port=8889" in started[0][0]


@pytest.mark.parametrize(("arguments", "env"), [(["--port", "9001"], {}), ([], {"PORT": "9001"})])
def test_a_port_asked_for_is_used(course, started, arguments, env):
    run("lab", *arguments, env=env)
    assert "--ServerApp.port=9001" in started[0][0]


def test_a_port_asked_for_that_is_taken_is_an_error(course, started):
    shown = run("lab", env={"PORT": "9000"})
    assert shown.code == 2 and "Port 9000 is taken" in shown.err and not started


def test_a_browser_opens_only_where_there_is_one_and_it_is_wanted(course, started, monkeypatch):
    monkeypatch.setattr(lab_module.webbrowser, "get", lambda: None)
    run("lab")
    run("lab", env={"DISPLAY": ":0"})
    run("lab", "--no-browser", env={"DISPLAY": ":0"})
    opened = [next(a for a in argv if "open_browser" in a).endswith("True") for argv, _ in started]
    assert opened == [os.name == "nt" or sys.platform == "darwin", True, False]


def test_a_port_on_which_somebody_listens_is_not_free():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        assert not lab_module.is_free(server.getsockname()[1])


def test_the_server_that_lab_starts_serves_the_lesson_to_those_with_the_token_alone(course):
    command = [sys.executable, "-m", "flashlearn", "lab", "--no-browser"]
    environment = {name: value for name, value in os.environ.items() if name not in ("PORT", "JUPYTER_TOKEN")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
        try:
            line = next(line for line in server.stdout if "http://" in line)
            address = line.split("starts at ")[1].strip()
            contents = address.replace("/lab/tree/", "/api/contents/")
            assert json.loads(_fetch(contents))["name"] == "START.md"
            with pytest.raises(urllib.error.HTTPError, match="403"):
                _fetch(contents.split("?")[0])
        finally:
            server.terminate()


def _fetch(address: str) -> bytes:
    """The answer, as soon as somebody listens there; the server has a minute to come up."""
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return answer.read()
        except urllib.error.HTTPError:
            raise
        except OSError:
            assert time.monotonic() < deadline, f"nobody listens at {address}"
            threading.Event().wait(0.1)


# doctor, bench, and the command itself


def _report(monkeypatch, *checks):
    fake = [SimpleNamespace(name=n, ok=ok, found=found, advice=a) for n, ok, found, a in checks]
    monkeypatch.setattr("flashlearn.course.environment.report", lambda: fake)


def test_doctor_says_what_to_do_and_fails_where_something_needed_is_broken(monkeypatch):
    _report(
        monkeypatch,
        ("torch", True, "2.13.0", ""),
        ("GPU", None, "none", "Kernels run observed."),
        ("C compiler", False, "none [gcc, cc]", "apt install gcc"),
    )
    shown = run("doctor")
    assert shown.code == 1
    assert "fix C compiler none [gcc, cc] apt install gcc" in shown.words
    assert "To fix before you start: C compiler." in shown.words


def test_doctor_is_content_where_only_notes_are_left(monkeypatch):
    _report(monkeypatch, ("torch", True, "2.13.0", ""), ("GPU", None, "none", "Kernels run observed."))
    shown = run("doctor")
    assert shown.code == 0 and "`flashlearn lab` opens the course" in shown.words


def test_bench_measures_verdicts_where_there_is_no_gpu(monkeypatch):
    asked = []
    fake = ModuleType("flashlearn.course.grader_benchmarks")
    fake.__spec__ = SimpleNamespace()
    fake.main = lambda: asked.append("verdicts")
    monkeypatch.setitem(sys.modules, "flashlearn.course.grader_benchmarks", fake)
    monkeypatch.setattr("flashlearn.machine.device.has_gpu", lambda: False)
    assert run("bench").code == 0 and run("bench", "--verdicts").code == 0
    assert asked == ["verdicts"] * 2


def test_bench_says_that_attention_is_timed_on_a_gpu_alone(monkeypatch, tmp_path):
    monkeypatch.setattr("flashlearn.machine.device.has_gpu", lambda: False)
    shown = run("bench", "--json", str(tmp_path / "out.json"))
    assert shown.code == 2 and "There is no GPU here to measure on" in shown.err
    (tmp_path / "other.json").write_text("{}")
    shown = run("bench", "--show", str(tmp_path / "other.json"))
    assert shown.code == 2 and "is no record of `flashlearn bench --json`" in shown.err


def test_bench_shows_a_record_and_draws_its_pictures(tmp_path):
    save(synthetic_record(), tmp_path / "record.json")
    shown = run("bench", "--show", str(tmp_path / "record.json"), "--plots", str(tmp_path / "drawn"))
    assert shown.code == 0 and "Speed relative to SDPA's cuDNN backend" in shown.words
    assert {"ladder.png", "memory.png"} <= {path.name for path in (tmp_path / "drawn").iterdir()}


def test_an_unexpected_error_is_one_sentence_unless_its_traceback_is_asked_for(course, monkeypatch):
    def broken(self):
        raise ZeroDivisionError("twice\nover")

    monkeypatch.setattr(Progress, "passed", broken)
    shown = run("status")
    assert shown.code == 2 and shown.err.count("\n") == 1
    assert "flashlearn stopped with ZeroDivisionError: twice" in shown.err
    shown = run("--debug", "status")
    assert shown.code == 2 and "Traceback" in shown.err and "in broken" in shown.err


def test_the_version_is_printed_and_a_mistyped_command_is_answered_with_a_close_one():
    assert run("--version").out.startswith("flashlearn ")
    shown = run("chek")
    assert shown.code == 2 and "check" in shown.words


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("flashlearn hint ro", ["row_sum"]),
        ("flashlearn reset 0", ["00_tour", "02_softmax"]),
        ("flashlearn check softmax_b", ["softmax_backward"]),
        ("flashlearn st", ["status"]),
    ],
)
def test_the_shell_completes_commands_exercises_and_notebooks(course, typed, offered):
    words = len(typed.split())
    env = {"_FLASHLEARN_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(words - 1)}
    assert run(env=env).out.split() == offered


HINT_RO = {"_FLASHLEARN_COMPLETE": "complete_bash", "COMP_WORDS": "flashlearn hint ro", "COMP_CWORD": "2"}


def test_completion_in_a_folder_that_is_no_clone_offers_the_package_s_exercises(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_COURSE", str(tmp_path))
    assert run(env=HINT_RO).out.split() == ["row_sum"]


def test_completion_where_lessons_cannot_be_read_offers_nothing_and_says_nothing(course):
    (course.notebooks / "00_tour.ipynb").write_text("{")
    shown = run(env=HINT_RO)
    assert (shown.out.strip(), shown.err) == ("", "")


def test_names_are_completed_without_importing_anything_heavy(tmp_path):
    code = (
        "import sys; sys.argv[0] = 'flashlearn'\n"
        "from flashlearn.cli import completion\n"
        "assert completion.exercises('row_s') and completion.notebooks('02')\n"
        "print({'torch', 'triton', 'sympy', 'jupytext', 'nbformat', 'matplotlib'} & sys.modules.keys())"
    )
    env = {**os.environ, "FLASHLEARN_COURSE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
