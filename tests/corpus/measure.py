"""What a check says of an entry of the corpus, and whether that is what the entry's label asks for.

>>> results = measured(wrong_entries(), jobs=4)
>>> results[0].verdict
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

from tests.corpus import STATUS_NAMES, VAGUE_NAMES, Entry, parts, right_entries, wrong_entries

CORRECTLY, IN_PART, WRONGLY, UNNAMED, ACCEPTED = (
    *("named correctly", "named in part", "named wrongly"),
    *("unnamed", "accepted"),
)
VERDICTS = (CORRECTLY, IN_PART, WRONGLY, UNNAMED, ACCEPTED)


@dataclass(frozen=True)
class Said:
    """What one check said: the names of its finding, and whether that leaves something open.

    `seconds` are the learner's, `processor_seconds` the processor's.
    """

    passed: bool
    names: tuple[str, ...]
    sentence: str
    seconds: float
    processor_seconds: float
    partial: bool = False


@dataclass(frozen=True)
class Result:
    """One entry and what a check of it said."""

    entry: Entry
    said: Said

    @property
    def verdict(self) -> str:
        """For a wrong entry: one of VERDICTS."""
        return verdict(self.entry, self.said)


def verdict(entry: Entry, said: Said) -> str:
    """How a finding meets the label of a wrong entry: one of VERDICTS."""
    if said.passed:
        return ACCEPTED
    if entry.accepts(said.names):
        return CORRECTLY
    found = frozenset(said.names)
    if found <= VAGUE_NAMES:
        return UNNAMED
    if found == {"one edit"}:
        return IN_PART  # it mends everything, but nobody has read whether it says what a teacher would
    if said.partial and any(found < parts(name) for name in entry.names):
        return IN_PART
    return WRONGLY


def measured(entries: Sequence[Entry], jobs: int = 1) -> list[Result]:
    """A check of every entry, in `jobs` processes; results in the order of the entries."""
    if jobs == 1:
        _prepare()
        return [Result(entry, _said(entry)) for entry in entries]
    numbers = {id(e): i for i, e in enumerate((*wrong_entries(), *right_entries()))}
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _prepare) as pool:
        said = list(pool.map(_said_of_number, [numbers[id(entry)] for entry in entries]))
    return [Result(entry, one) for entry, one in zip(entries, said, strict=True)]


def _prepare() -> None:
    """A process that measures: no windows, one thread, and none of the GPU compilers' work afterwards."""
    os.environ.setdefault("MPLBACKEND", "Agg")
    import flashlearn.checking

    warnings.filterwarnings("ignore", message="tl.make_block_ptr is deprecated")
    flashlearn.checking._budgets = lambda *_: (None, None)  # nobody waits here for them


def _said_of_number(number: int) -> Said:
    """The same for an entry by its number: functions made from text cannot be sent to another process."""
    return _said((*wrong_entries(), *right_entries())[number])


def _said(entry: Entry) -> Said:
    """Check one entry, recording nothing."""
    import flashlearn

    started = time.process_time()
    report = flashlearn.check(entry.exercise, entry.function, demo=True)
    used = time.process_time() - started
    partial = report.finding is not None and report.finding.partial
    return Said(report.passed, names_of(report), report.sentence, report.seconds, used, partial)


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
    from tests.corpus import GENERIC_NAMES

    known = GENERIC_NAMES | find(entry.exercise).known.keys()
    return (part for name in entry.names for part in parts(name) if part not in known)
