"""Proof on a machine with a GPU: `python -m tests.classroom.gpu`.

Two workers grade a small class without a sandbox and time right kernels on one GPU: right answers, a wrong
one, and one that would store far beyond its output. It prints the results, and exits with 1 unless grades are
as labelled, each right kernel and no other has a time that the clock confirms, and no two were timed at once.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from pathlib import Path

from flashlearn.classroom.grading.gpu_timing import CHILD
from flashlearn.classroom.job import Grading, Job
from flashlearn.classroom.records import AssignedExercise, Assignment, CodeCell, Submission, SubmissionGrade
from flashlearn.classroom.workers.pool import Pool
from tests.classroom.answers import IMPORTS, ROW_SUM

ASSIGNMENT = Assignment("times", (AssignedExercise("row_sum", "00", 2),), "0", b"theirs", "key")
ANSWER = ROW_SUM.replace("dtype=x.dtype)", "dtype=x.dtype, device=x.device)")
WRONG = ANSWER.replace("tl.sum(total)", "2 * tl.sum(total)")
WILD = ANSWER.replace("out_ptr + row,", "out_ptr + row + (1 << 40),")
RIGHT = 4


def jobs() -> list[tuple[str, Job]]:
    """A label, right, wrong or wild, and the job."""
    texts = [("right", ANSWER + f"\n# {number}") for number in range(RIGHT)]
    texts += [("wrong", WRONG), ("wild", WILD)]
    return [
        (label, Job(_submission(label, number, text), ASSIGNMENT))
        for number, (label, text) in enumerate(texts)
    ]


def _submission(label: str, number: int, text: str) -> Submission:
    cells = (CodeCell(IMPORTS), CodeCell(text, "row_sum"))
    return Submission(f"{label} {number}", ("one.ipynb",), cells, key=str(number))


def timing_now() -> list[int]:
    """The processes that time an answer, without forks of theirs that lower its kernels."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if CHILD[-1].encode() in command:
            found.append(int(number))
    return [one for one in found if _parent(one) not in found]


def _parent(number: int) -> int:
    try:
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


class Watch(threading.Thread):
    """Looks again and again how many processes time an answer; `most` is the largest number."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.02):
            self.most = max(self.most, len(timing_now()))


def problems(found: dict[str, SubmissionGrade], most: int) -> list[str]:
    """What is not as it should be."""
    said = [] if most == 1 else [f"{most} answers were timed at once"]
    for student, grade in found.items():
        (one,) = grade.exercises
        is_right, has_time = student.startswith("right"), "row_sum: ms" in grade.figures
        if (one.verdict == "pass") != is_right:
            said.append(f"{student}: {one.verdict} ({one.sentence})")
        if has_time != is_right or one.for_teacher:
            said.append(f"{student}: {'a time' if has_time else 'no time'}; {one.for_teacher}")
    return said


def main(arguments: list[str] | None = None) -> int:
    """Grade, print, compare. 1 if something is not as it should be."""
    options = argparse.ArgumentParser(prog="python -m tests.classroom.gpu", description=__doc__)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--gpus", type=int, default=1)
    chosen = options.parse_args(arguments)
    begun, found, watch = time.perf_counter(), {}, Watch()
    watch.start()
    with Pool(Grading(unsafe=True, gpus=chosen.gpus), chosen.workers) as pool:
        for job, grade in pool.run(job for _, job in jobs()):
            found[job.submission.student] = grade
            times = {name: f"{value:.4f}" for name, value in grade.figures.items() if ": " in name}
            remark = grade.exercises[0].for_teacher
            print(job.submission.student, grade.status, grade.points, times, remark, flush=True)
    watch.over.set()
    print(f"{time.perf_counter() - begun:.1f} s; at most {watch.most} timed at once.")
    said = problems(found, watch.most)
    print("\n".join(said) or "All is as it should be.")
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
