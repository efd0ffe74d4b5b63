"""A class of strangers, graded as it comes and under attack: `python -m tests.classroom`.

A class is made of the corpus by a seed: right, wrong, altered, hostile and broken notebooks. It is graded by
one worker and by all, with a worker killed every few seconds, and with the parent killed at random moments
and started again. Each time every grade must be as labelled.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from flashlearn.classroom.collect import collect
from flashlearn.classroom.gradebook import Gradebook
from flashlearn.classroom.job import Grading
from flashlearn.classroom.pool import Pool, cores
from flashlearn.classroom.release import read_handout, release
from flashlearn.classroom.running import grade_all
from flashlearn.course.files import Course
from flashlearn.course.packaged import ROOT
from tests.classroom.generator import Label, write_class

RUNS = 3
"""So often is a class graded while the grader has failed at somebody: a teacher does the same."""

ONCE = "import sys; from tests.classroom.__main__ import grade_once; grade_once(*sys.argv[1:])"


@dataclass(frozen=True)
class Class:
    """A class on disk, and how it is graded."""

    folder: Path
    labels: dict[str, Label]
    grading: Grading


@dataclass(frozen=True)
class Way:
    """One way through the class, in figures: `wrong` are students whose grade is not as labelled."""

    name: str
    seconds: float
    wrong: tuple[str, ...]
    failed: int
    killed: int


def grade_once(folder: str, book: str, workers: str, grading: str) -> None:
    """What is run and killed: one `flashlearn class grade`, without its progress bar.

    It prints its memory in MB after each notebook.
    """
    handout, collected = read_handout(Path(folder, "handout")), collect(Path(folder, "submissions"))
    how = Grading(**json.loads(grading))
    with Gradebook.open(Path(book)) as opened, Pool(how, int(workers)) as pool:
        opened.begin(handout)
        grade_all(collected, handout, opened, pool, advanced=lambda count: print(f"{_memory():.1f}"))


def memory(of: Class) -> tuple[float, float]:
    """The parent's memory in MB, after a tenth of a class and at its end; its grader only reads marks."""
    quick = json.dumps(vars(Grading("tests.classroom.graders:by_marks")))
    command = [sys.executable, "-c", ONCE, str(of.folder), str(of.folder / "quick.sqlite"), "1", quick]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    seen = [float(line) for line in done.stdout.split()]
    return seen[len(seen) // 10], seen[-1]


def graded(of: Class, name: str, workers: int, disturb: Callable[[subprocess.Popen], int]) -> Way:
    """Grade the class from nothing, starting again after each kill; judge every grade."""
    book = of.folder / f"{name.replace(' ', '-')}.sqlite"
    errors = of.folder / "stderr"
    started, killed, ended = time.perf_counter(), 0, 0
    while True:
        process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                ONCE,
                str(of.folder),
                str(book),
                str(workers),
                json.dumps(vars(of.grading)),
            ],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=errors.open("w"),
        )
        killed += disturb(process)
        code = process.wait()
        if code == -signal.SIGKILL:
            continue
        if code != 0:
            raise SystemExit(f"{name}: grading ended with exit code {code}\n{errors.read_text()[-2000:]}")
        wrong, failed = judged(of, book)
        ended += 1
        if not failed or ended == RUNS:
            break
    return Way(name, time.perf_counter() - started, wrong, failed, killed)


def judged(of: Class, book: Path) -> tuple[tuple[str, ...], int]:
    """Students whose grade is not as labelled, and how many the grader failed at."""
    wrong, failed, seen = [], 0, set()
    with Gradebook.read(book) as opened:
        for result in opened.results():
            seen.add(result.student.name)
            passes = {one.name for one in result.exercises if one.verdict == "pass"}
            if not result.complete:
                failed += 1
            elif passes != of.labels[result.student.name].passes:
                wrong.append(result.student.name)
    return tuple(sorted([*wrong, *(of.labels.keys() - seen)])), failed


def undisturbed(process: subprocess.Popen) -> int:
    """Wait for its end."""
    process.wait()
    return 0


def killing_workers(every: float, chance: random.Random) -> Callable[[subprocess.Popen], int]:
    """Kill one of its workers every so many seconds."""

    def disturb(process: subprocess.Popen) -> int:
        killed = 0
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(every)
                return killed
            with contextlib.suppress(OSError, IndexError):
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                os.kill(int(chance.choice(children)), signal.SIGKILL)
                killed += 1

    return disturb


def killing_the_parent(times: int, within: float, chance: random.Random) -> Callable[[subprocess.Popen], int]:
    """Kill the process itself at a random moment, so many times in all."""
    left = [times]

    def disturb(process: subprocess.Popen) -> int:
        if not left[0]:
            return undisturbed(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0.1, within))
            return 0
        process.kill()
        left[0] -= 1
        return 1

    return disturb


def show(of: Class, ways: list[Way], console: Console) -> None:
    """The class, and a row for each way through it."""
    kinds = Counter(label.kind for label in of.labels.values())
    console.print(f"{len(of.labels)} students: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}")
    table = Table(box=box.SIMPLE_HEAD, title="The class")
    table.add_column("")
    for heading in ("seconds", "a second", "not as labelled", "failed", "killed"):
        table.add_column(heading, justify="right")
    for way in ways:
        rate = len(of.labels) / way.seconds
        figures = (f"{way.seconds:.0f}", f"{rate:.1f}", len(way.wrong), way.failed)
        table.add_row(way.name, *map(str, figures), str(way.killed))
    console.print(table)
    efficiency = ways[0].seconds / ways[1].seconds / cores()
    console.print(f"Efficiency of {cores()} workers: {efficiency:.2f}.")
    for way in ways:
        for name in way.wrong:
            console.print(f"{way.name}: {name} ({of.labels[name].kind}) is not as labelled.", style="red")


def main(arguments: list[str] | None = None) -> int:
    """Make the class, grade it in each way, and print what came out. 1 if a grade is not as labelled."""
    options = _options().parse_args(arguments)
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="flashlearn-class-") as scratch:
        folder = Path(scratch)
        handout = release(Course(ROOT), options.lessons.split(","), folder / "handout")
        labels = write_class(folder / "submissions", handout, options.students, options.seed)
        of = Class(folder, labels, Grading(options.grade, options.unsafe))
        one = graded(of, "one worker", 1, undisturbed)
        several = graded(of, f"{cores()} workers", cores(), undisturbed)
        within = several.seconds / max(options.kill_parent, 1)
        ways = [
            one,
            several,
            graded(of, "workers killed", cores(), killing_workers(options.kill_workers, chance)),
            graded(of, "parent killed", cores(), killing_the_parent(options.kill_parent, within, chance)),
        ]
        large = Class(folder / "large", write_class(folder / "large/submissions", handout, 2000), of.grading)
        release(Course(ROOT), options.lessons.split(","), large.folder / "handout")
        early, late = memory(large)
    show(of, ways, Console())
    print(f"The parent had {early:.0f} MB after 200 submissions, and {late:.0f} MB after 2000.")
    return int(any(way.wrong or way.failed for way in ways))


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m tests.classroom", description=__doc__)
    options.add_argument("--students", type=int, default=300)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--lessons", default="00")
    options.add_argument("--kill-workers", type=float, default=5.0, help="seconds between two kills")
    options.add_argument("--kill-parent", type=int, default=10, help="how many times")
    options.add_argument("--grade", default=Grading().grade, help="module:name of what grades")
    options.add_argument("--unsafe", action="store_true", help="run their code without walls")
    return options


def _memory() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    sys.exit(main())
