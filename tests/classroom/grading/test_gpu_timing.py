"""Times on a GPU, with a stand-in for the process that takes them: advisory, one at a time, cross-checked."""

from __future__ import annotations

import dataclasses
import itertools
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashlearn.classroom.grading import session
from flashlearn.classroom.grading.gpu_lock import locked_gpu
from flashlearn.classroom.grading.gpu_timing import Timed, clock_doubt, timed
from flashlearn.classroom.grading.gpu_timing_child import answer, untimed
from flashlearn.classroom.grading.session import GradingSession
from flashlearn.classroom.records import CodeCell, ExerciseGrade, Submission
from flashlearn.classroom.sandbox.client import NotConfined
from flashlearn.lessons import find
from flashlearn.report import Report
from tests.classroom.answers import IMPORTS, ROW_SUM

SUBMISSION = Submission("Ada", ("ada.ipynb",), (CodeCell(IMPORTS), CodeCell(ROW_SUM, "row_sum")), "1")


def clock(milliseconds: float, calls: int) -> Iterator[float]:
    """A clock beside two rounds of calls that take this each, the second round three times as long."""
    seconds = milliseconds * calls / 1e3
    return itertools.accumulate((0.0, seconds, 0.0, 3 * seconds))


def stand_in(what: str, folder: Path, calls: int = 20, **how) -> Timed:
    """One answer timed by the stand-in; by the clock a call takes 5 ms."""
    command = ("-m", "tests.classroom.grading.timing_stand_in", what, str(folder / "log"))
    return timed(SUBMISSION, "row_sum", [0], folder, command=command, clock=clock(5.0, calls).__next__, **how)


def test_a_time_is_what_the_process_says_where_the_clock_agrees(tmp_path: Path):
    found = stand_in("honest", tmp_path)
    assert (found.gpu, found.milliseconds, found.peer, found.doubt) == ("a GPU", 5.0, 4.0, "")
    assert found.at_most == pytest.approx(5.0)
    assert set(found.figures("row_sum")) == {
        "row_sum: ms",
        "row_sum: ms by the grader's clock",
        "row_sum: ms of its peer",
    }


def test_a_time_that_the_clock_does_not_bear_out_is_in_doubt(tmp_path: Path):
    found = stand_in("lies", tmp_path, calls=1000)
    assert found.milliseconds == 0.1 and "by the grader's own clock it takes 5 ms" in found.doubt


def test_launching_from_a_slow_host_is_no_lie():
    assert not clock_doubt(0.01, 0.3) and not clock_doubt(10, 12) and clock_doubt(1, 4)


@pytest.mark.parametrize(
    ("what", "why"),
    [("nonsense", "nothing that can be read"), ("refuses", "it does not pass"), ("silent", "more than")],
)
def test_a_process_that_times_nothing_is_ended_and_said(what: str, why: str, tmp_path: Path):
    found = stand_in(what, tmp_path, longest=0.0 if what == "silent" else 60.0)
    assert why in found.doubt and not found.figures("row_sum")


def test_two_that_want_one_gpu_take_turns(tmp_path: Path):
    both = [threading.Thread(target=stand_in, args=("honest", tmp_path)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert (tmp_path / "log").read_text() == "+-+-"


def test_a_second_gpu_is_taken_while_the_first_is_busy(tmp_path: Path):
    with locked_gpu(range(2), tmp_path) as one, locked_gpu(range(2), tmp_path) as other:
        assert (one.gpu, other.gpu) == (0, 1)
    with locked_gpu(range(2), tmp_path) as again:
        assert again.gpu == 0


def test_a_gpu_is_taken_until_the_process_that_uses_it_has_ended_whatever_became_of_its_parent(
    tmp_path: Path,
):
    with locked_gpu([0], tmp_path) as locked:
        using = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[locked.handle])
    with locked_gpu(range(2), tmp_path) as other:
        assert other.gpu == 1, "the lock went along"
    using.communicate()
    with locked_gpu(range(2), tmp_path) as again:
        assert again.gpu == 0


def test_a_time_changes_no_points_and_a_doubt_is_for_the_teacher(monkeypatch: pytest.MonkeyPatch):
    said = Timed("a GPU", 1.0, 9.0, 2.0, "it lies")
    monkeypatch.setattr(session, "timed", lambda submission, name, gpus: said)
    right, wrong = ExerciseGrade("row_sum", "pass", 2, 2), ExerciseGrade("row_sum", "wrong", 0, 2)
    (one, other), figures = session._timed(SUBMISSION, (right, wrong), 1)
    assert (one.points, one.verdict, other) == (2, "pass", wrong)
    assert one.for_teacher == "Its time is in doubt: it lies."
    assert figures["row_sum: ms"] == 1.0


def test_gpus_are_refused_inside_the_sandbox():
    with pytest.raises(NotConfined, match="only with --unsafe"):
        GradingSession(gpus=1)


def test_what_does_not_pass_observed_is_not_timed():
    function = answer(json.dumps(dataclasses.asdict(SUBMISSION)), find("row_sum"))
    assert function is not None and function.__name__ == "row_sum"
    assert "does not pass" in untimed(Report(exercise=find("row_sum"), outcomes=()))


def test_no_kernel_is_launched_while_cells_are_run(tmp_path: Path):
    launched = ROW_SUM + "\nTOTAL = row_sum(torch.ones(2, 2))\n"
    needs = launched + "def row_sum_of_ones(x, total=TOTAL):\n    return total\n"
    of = dataclasses.replace(SUBMISSION, cells=(CodeCell(IMPORTS), CodeCell(needs, "row_sum")))
    text = json.dumps(dataclasses.asdict(of)).replace("row_sum_of_ones", "row_sum")
    function = answer(text, find("row_sum"))
    assert function is not None and function.__defaults__ is None, "the cell ended at its launch"


def test_a_process_that_cannot_begin_is_said(tmp_path: Path):
    found = timed(SUBMISSION, "row_sum", [0], tmp_path, command=("-c", "raise SystemExit"))
    assert "sent nothing" in found.doubt
