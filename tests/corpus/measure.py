"""What a check says about an entry of the corpus, and whether that is what the entry's label asks for.

>>> measurements = measure(wrong_entries(), jobs=4)
>>> measurements[0].verdict
'named correctly'
"""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from tests.corpus.entries import Entry
from tests.corpus.labels import GENERIC_NAMES, STATUS_NAMES, VAGUE_NAMES, parts

CORRECTLY, IN_PART, WRONGLY, UNNAMED, ACCEPTED = (
    *("named correctly", "named in part", "named wrongly"),
    *("unnamed", "accepted"),
)
VERDICTS = (CORRECTLY, IN_PART, WRONGLY, UNNAMED, ACCEPTED)


@dataclass(frozen=True)
class CheckResult:
    """What one check found: the names of its finding, and whether that leaves something open.

    `line` is the marked line of the answer, counted with the imports before it. `seconds` are the learner's,
    `processor_seconds` the processor's.
    """

    passed: bool
    names: tuple[str, ...]
    sentence: str
    seconds: float
    processor_seconds: float
    partial: bool = False
    status: str = ""
    line: int | None = None


@dataclass(frozen=True)
class Measurement:
    """One entry and what a check of it found."""

    entry: Entry
    result: CheckResult

    @property
    def verdict(self) -> str:
        """For a wrong entry: one of VERDICTS."""
        return verdict(self.entry, self.result)


def verdict(entry: Entry, result: CheckResult) -> str:
    """How a finding meets the label of a wrong entry: one of VERDICTS."""
    if result.passed:
        return ACCEPTED
    if entry.accepts(result.names):
        return CORRECTLY
    found = frozenset(result.names)
    if found <= VAGUE_NAMES:
        return UNNAMED
    if found == {"one edit"}:
        return IN_PART  # it makes every case right, but it may not say what a teacher would
    if result.partial and any(found < parts(name) for name in entry.names):
        return IN_PART
    return WRONGLY


def measure(entries: Sequence[Entry], jobs: int = 1) -> list[Measurement]:
    """A check of every entry, in `jobs` processes; in the order of the entries."""
    if jobs == 1:
        _prepare()
        return [Measurement(entry, check(entry)) for entry in entries]
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _prepare) as pool:
        results = list(pool.map(check, entries))
    return [Measurement(entry, result) for entry, result in zip(entries, results, strict=True)]


def _prepare() -> None:
    """Set up a process that measures: no windows, one thread, no compilation for GPUs after a check."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    from flashlearn.checking import launcher_steps

    warnings.filterwarnings("ignore", message="tl.make_block_ptr is deprecated")
    launcher_steps._budgets = lambda *_: (None, None)  # its figures are not read here


def check(entry: Entry) -> CheckResult:
    """Check one entry, recording nothing."""
    import flashlearn

    function = entry.function
    started = time.process_time()
    report = flashlearn.check(entry.exercise, function, demo=True)
    return result_of(report, time.process_time() - started)


def result_of(report: Any, processor_seconds: float = 0.0) -> CheckResult:
    """What is measured of a report."""
    finding = report.finding
    return CheckResult(
        passed=report.passed,
        names=names_of(report),
        sentence=report.sentence,
        seconds=report.seconds,
        processor_seconds=processor_seconds,
        partial=finding is not None and finding.partial,
        status=report.status.name,
        line=finding.place.line if finding is not None and finding.place else None,
    )


def names_of(report: Any) -> tuple[str, ...]:
    """The finding's names; without a finding, a status that says by itself what happened; else nothing."""
    if report.passed:
        return ()
    if report.finding is not None:
        return report.finding.names
    status = report.status.name.lower()
    return (status,) if status in STATUS_NAMES else ()


def undeclared(entry: Entry) -> Iterator[str]:
    """Names of a label that neither the entry's exercise nor the grader's rules have."""
    from flashlearn.lessons import find

    known = GENERIC_NAMES | find(entry.exercise).all_mistakes.keys()
    return (part for name in entry.names for part in parts(name) if part not in known)
