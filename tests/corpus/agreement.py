"""The interpreter's verdict beside the compiled kernel's, for every answer to a lesson's exercises.

    $ python -m tests.corpus.agreement --lesson 13             # a line for each that differs; needs a GPU
    $ python -m tests.corpus.agreement --lesson 13 --verbose   # a line for each

The answers are the solutions, the right and wrong answers of the corpus, and each declared mistake that has a
kernel. Each is judged in its own process: on the CPU, observed, up to the first case that fails; then
compiled, up to the first that fails, beginning with the case that failed on the CPU. A race may give right
numbers on one GPU, and the value of a masked load's hidden lanes is undefined there, so full agreement is
impossible: this is a measurement and asserts nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import multiprocessing.connection
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from flashlearn.exercise import Case, Exercise
from flashlearn.judging.cases import run_observed
from flashlearn.judging.compiled_cases import run_compiled
from flashlearn.lessons import all_exercises
from flashlearn.outcome import Outcome, Status
from tests.corpus import right_entries, wrong_entries
from tests.corpus.compiled import on_the_gpu

TIMED_OUT = "no end"
COMPILED_CASES = 3  # of a wrong answer, the one that failed on the CPU first


@dataclass(frozen=True)
class Subject:
    """An answer and whether it is right."""

    exercise: Exercise
    title: str
    function: Callable[..., Any]
    right: bool


@dataclass(frozen=True)
class Verdicts:
    """The two verdicts on one answer, a word each, and the seconds each took."""

    subject: Subject
    observed: str
    compiled: str
    seconds: tuple[float, float]

    @property
    def agree(self) -> bool:
        """Whether both say that the answer is right, or both that it is wrong."""
        return (self.observed == "pass") == (self.compiled == "pass")


def subjects(lesson: str) -> Iterator[Subject]:
    """Solutions, then mistakes, then the corpus."""
    exercises = {name: each for name, each in all_exercises().items() if each.lesson == lesson}
    for exercise in exercises.values():
        module, _, name = exercise.solution.partition(":")
        if name:
            yield Subject(exercise, "the solution", getattr(import_module(module), name), True)
    for exercise in exercises.values():
        for name, mistake in exercise.explained.mistakes.items():
            if mistake.launcher is not None:
                yield Subject(exercise, f"mistake: {name}", mistake.launcher, False)
    for right, entries in ((True, right_entries()), (False, wrong_entries())):
        for entry in entries:
            if entry.exercise in exercises:
                yield Subject(exercises[entry.exercise], entry.title, entry.function, right)


def word(outcome: Outcome) -> str:
    """A status, with the kind of its fault if there is one."""
    kind = [str(each) for each in outcome.fault[:2]]
    return " ".join([outcome.status.name.lower().replace("_", " "), *kind])


def judge(lesson: str, number: int, reports: Connection, gpu: bool) -> None:
    """Runs in a child process: sends the verdict on the CPU, then the one on the GPU."""
    subject = list(subjects(lesson))[number]
    exercise = subject.exercise
    cases = [case for case in exercise.cases if not case.gpu]
    started = time.perf_counter()
    failing: Case | None = None
    observed = "pass"
    for case in cases:
        outcome = run_observed(exercise, subject.function, case)
        if outcome.status is not Status.PASS:
            failing, observed = case, word(outcome)
            break
    reports.send((observed, time.perf_counter() - started))
    if not gpu:
        return
    started = time.perf_counter()
    first = [case for case in cases if case.compiled]
    if failing is not None:
        first = [failing, *(case for case in first if case is not failing)][:COMPILED_CASES]
    small = dataclasses.replace(exercise, cases=tuple(first))
    outcomes = run_compiled(small, on_the_gpu(subject.function))
    bad = next((each for each in outcomes if each.status is not Status.PASS), None)
    reports.send(("pass" if bad is None else word(bad), time.perf_counter() - started))
    os._exit(0)  # after a GPU fault, CUDA's cleanup at exit would fail or hang


def verdicts(lesson: str, chosen: list[int], gpu: bool, processes: int, limit: float) -> Iterator[Verdicts]:
    """The verdicts on these subjects as they arrive: `processes` at a time, `limit` seconds each."""
    context = multiprocessing.get_context("spawn")  # a fork of a process that has a GPU cannot use it
    all_subjects, waiting = list(subjects(lesson)), list(chosen)
    running: list[tuple[int, Any, Connection, float]] = []
    while waiting or running:
        while waiting and len(running) < processes:
            number = waiting.pop(0)
            mine, theirs = context.Pipe(duplex=False)
            process = context.Process(target=judge, args=(lesson, number, theirs, gpu))
            process.start()
            theirs.close()
            running.append((number, process, mine, time.monotonic() + limit))
        multiprocessing.connection.wait([process.sentinel for _, process, _, _ in running], timeout=0.5)
        for each in list(running):
            number, process, reports, until = each
            if process.is_alive() and time.monotonic() < until:
                continue
            process.kill()
            process.join()
            running.remove(each)
            yield collected(all_subjects[number], reports, died=time.monotonic() < until)


def collected(subject: Subject, reports: Connection, died: bool) -> Verdicts:
    """The verdicts that a child has sent; for a missing one, whether the child died or ran into the limit."""
    words: list[tuple[str, float]] = []
    try:
        while len(words) < 2 and reports.poll():
            words.append(reports.recv())
    except EOFError:
        pass
    words += [("died" if died else TIMED_OUT, 0.0)] * (2 - len(words))
    (observed, first), (compiled, second) = words
    return Verdicts(subject, observed, compiled, (first, second))


def main() -> None:
    """Print the lines and the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lesson", default="13")
    parser.add_argument("--exercise", help="only this exercise")
    parser.add_argument("--beside", type=int, default=12, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=120.0, help="limit for each answer")
    parser.add_argument("--without-gpu", action="store_true", help="only the verdict on the CPU")
    parser.add_argument("--verbose", action="store_true", help="a line for each")
    options = parser.parse_args()
    chosen = [
        number
        for number, each in enumerate(subjects(options.lesson))
        if options.exercise in (None, each.exercise.name)
    ]
    counts: Counter[str] = Counter()
    slowest = 0.0
    gpu = not options.without_gpu
    for each in verdicts(options.lesson, chosen, gpu, options.beside, options.seconds):
        right = "right" if each.subject.right else "wrong"
        agreed = ("agree" if each.agree else "differ") if gpu else f"observed {each.observed}"
        counts[f"{right}, {agreed}"] += 1
        slowest = max(slowest, each.seconds[0])
        if options.verbose or not (gpu and each.agree):
            seconds = "  ".join(f"{taken:.1f} s" for taken in each.seconds)
            compiled = f"  |  {each.compiled}" if gpu else ""
            print(f"{right}  {each.subject.exercise.name}: {each.subject.title}")
            print(f"    {each.observed}{compiled}  ({seconds})", flush=True)
    print(f"{dict(counts)}; slowest observed {slowest:.1f} s")


if __name__ == "__main__":
    main()
