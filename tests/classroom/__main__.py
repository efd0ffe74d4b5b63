"""A class of untrusted notebooks, graded undisturbed and under attack: `python -m tests.classroom`.

A class is made of the corpus by a seed: right, wrong, altered, hostile and broken notebooks. It is graded in
several ways: by `one` worker, by `all`, with a worker killed every few seconds (`workers`), and with the
parent killed at random moments and started again (`parent`). Each time every grade must be as labelled.
`memory` is what the parent takes for 2000 submissions. `--ways workers,memory` runs these two.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from flashlearn.classroom.class_run import grade_all
from flashlearn.classroom.collecting.collect import collect
from flashlearn.classroom.gradebook import Gradebook
from flashlearn.classroom.handout import Handout
from flashlearn.classroom.job import Grading
from flashlearn.classroom.release import read_handout, release
from flashlearn.classroom.workers.pool import Pool, cores
from flashlearn.course.files import Course
from flashlearn.course.packaged_lessons import ROOT
from tests.classroom.disturbing import Disturb, killing_the_parent, killing_workers, undisturbed
from tests.classroom.generator import Label, write_class

WAYS = {
    "one": "one worker",
    "all": f"{cores()} workers",
    "workers": "workers killed",
    "parent": "the run killed",
    "memory": "the parent's memory",
}

SECONDS = 0.5
"""That a submission takes, about, where no other way has been measured before."""

RUNS = 10
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
    """One way through the class, in figures: `wrong` are students whose grade is not as labelled.

    `runs` came to their end; another one grades what the grader has failed at.
    """

    name: str
    seconds: float
    wrong: tuple[str, ...]
    failed: int
    killed: int
    runs: int


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


def graded(of: Class, name: str, workers: int, disturb: Disturb) -> Way:
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
    return Way(name, time.perf_counter() - started, wrong, failed, killed, ended)


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


def show(of: Class, ways: list[Way], console: Console) -> None:
    """The class, and a row for each way through it."""
    kinds = Counter(label.kind for label in of.labels.values())
    console.print(f"{len(of.labels)} students: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}")
    table = Table(box=box.SIMPLE_HEAD, title="The class")
    table.add_column("")
    for heading in ("seconds", "a second", "not as labelled", "failed", "killed", "runs"):
        table.add_column(heading, justify="right")
    for way in ways:
        rate = len(of.labels) / way.seconds
        figures = (f"{way.seconds:.0f}", f"{rate:.1f}", len(way.wrong), way.failed)
        table.add_row(WAYS[way.name], *map(str, figures), str(way.killed), str(way.runs))
    console.print(table)
    by = {way.name: way for way in ways}
    if "one" in by and "all" in by:
        efficiency = by["one"].seconds / by["all"].seconds / cores()
        console.print(f"Efficiency of {cores()} workers: {efficiency:.2f}.")
    for way in ways:
        for name in way.wrong:
            console.print(f"{way.name}: {name} ({of.labels[name].kind}) is not as labelled.", style="red")


def main(arguments: list[str] | None = None) -> int:
    """Make the class, grade it in each way, and print what came out. 1 if a grade is not as labelled."""
    options = _options().parse_args(arguments)
    chance, chosen = random.Random(options.seed), options.ways.split(",")
    if unknown := set(chosen) - set(WAYS):
        raise SystemExit(f"There is no way {', '.join(unknown)}: {', '.join(WAYS)}.")
    with tempfile.TemporaryDirectory(prefix="flashlearn-class-") as scratch:
        folder = Path(scratch)
        handout = release(Course(ROOT), options.lessons.split(","), folder / "handout")
        labels = write_class(folder / "submissions", handout, options.students, options.seed)
        of = Class(folder, labels, Grading(options.grade, options.unsafe))
        ways: list[Way] = []
        for name in (one for one in chosen if one != "memory"):
            ways.append(graded(of, name, *_way(name, options, ways, chance)))
        if ways:
            show(of, ways, Console())
        if "memory" in chosen:
            show_memory(folder, handout, of.grading)
    if left_out := [title for way, title in WAYS.items() if way not in chosen]:
        print(f"Left out: {', '.join(left_out)}.")
    return int(any(way.wrong or way.failed for way in ways))


def _way(
    name: str, options: argparse.Namespace, before: list[Way], chance: random.Random
) -> tuple[int, Disturb]:
    """How many workers a way has, and what befalls it."""
    whole = before[-1].seconds if before else SECONDS * options.students
    match name:
        case "one":
            return 1, undisturbed
        case "all":
            return cores(), undisturbed
        case "workers":
            return cores(), killing_workers(options.kill_workers_every, chance)
    within = whole / max(options.kill_parent, 1)
    return cores(), killing_the_parent(options.kill_parent, within, chance)


def show_memory(folder: Path, handout: Handout, grading: Grading) -> None:
    """What the parent takes while it has 2000 notebooks graded by marks."""
    large = Class(folder / "large", write_class(folder / "large/submissions", handout, 2000), grading)
    release(Course(ROOT), sorted(handout.parts()), large.folder / "handout")
    early, late = memory(large)
    print(f"The parent had {early:.0f} MB after 200 submissions, and {late:.0f} MB after 2000.")


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m tests.classroom", description=__doc__)
    options.add_argument("--students", type=int, default=300)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--lessons", default="00")
    options.add_argument("--ways", default=",".join(WAYS), help="which of " + ", ".join(WAYS))
    options.add_argument("--kill-workers-every", type=float, default=5.0, help="seconds between two kills")
    options.add_argument("--kill-parent", type=int, default=10, help="how many times")
    options.add_argument("--grade", default=Grading().grade, help="module:name of what grades")
    options.add_argument("--unsafe", action="store_true", help="run their code without a sandbox")
    return options


def _memory() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


if __name__ == "__main__":
    sys.exit(main())
