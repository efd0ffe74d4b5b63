"""What the grader says of every answer of the corpus: `python -m tests.corpus`.

A wrong answer counts as named correctly if its finding is one of the names that its entry lists, as named in
part if the finding is one of two mistakes and says that there is more, or an edit that mends everything and
that the entry does not list, as unnamed if there is no finding or one that only says where or what was seen,
and as named wrongly otherwise.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from tests.corpus import Entry, compiled, right_entries, wrong_entries
from tests.corpus.measure import ACCEPTED, CORRECTLY, VERDICTS, Result, measured


def summary(results: Sequence[Result], rights: Sequence[Result]) -> Table:
    """Counts over all entries, and how long the failing checks took."""
    table = Table(box=box.SIMPLE_HEAD, title="The corpus")
    table.add_column("")
    table.add_column("entries", justify="right")
    counts = Counter(r.verdict for r in results)
    table.add_row("wrong answers", str(len(results)))
    table.add_row("  rejected", f"{len(results) - counts[ACCEPTED]} of {len(results)}")
    for verdict in VERDICTS[:-1]:
        table.add_row(f"  {verdict}", f"{counts[verdict]} ({_share(counts[verdict], len(results))})")
    table.add_row("right answers", str(len(rights)))
    table.add_row("  rejected", str(sum(not r.said.passed for r in rights)))
    failing = [r for r in results if not r.said.passed]
    seconds = {"": lambda r: r.said.seconds, " of the processor": lambda r: r.said.processor_seconds}
    for what, taken in seconds.items() if failing else ():
        slowest = max(failing, key=taken)
        table.add_row(f"seconds{what}, median failing check", f"{statistics.median(map(taken, failing)):.2f}")
        table.add_row(f"  largest ({slowest.entry.exercise})", f"{taken(slowest):.2f}")
    return table


def by_exercise(results: Sequence[Result], rights: Sequence[Result]) -> Table:
    """The same counts, a row per exercise."""
    table = Table(box=box.SIMPLE_HEAD, title="By exercise")
    table.add_column("exercise")
    for heading in ("wrong", *VERDICTS, "right", "right rejected", "median s", "largest s"):
        table.add_column(heading, justify="right")
    for exercise in dict.fromkeys(r.entry.exercise for r in (*results, *rights)):
        mine = [r for r in results if r.entry.exercise == exercise]
        theirs = [r for r in rights if r.entry.exercise == exercise]
        counts = Counter(r.verdict for r in mine)
        seconds = [r.said.seconds for r in mine if not r.said.passed]
        times = (f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}") if seconds else ("", "")
        shown = [_or_blank(n) for n in (len(mine), *(counts[v] for v in VERDICTS))]
        rejected = _or_blank(sum(not r.said.passed for r in theirs))
        table.add_row(exercise, *shown, _or_blank(len(theirs)), rejected, *times)
    return table


def details(results: Iterable[Result]) -> Table:
    """Every wrong entry that is not named correctly, and every right one that is rejected."""
    table = Table(box=box.SIMPLE_HEAD, show_lines=True, title="Not as labelled")
    for heading in ("exercise", "title", "a teacher says", "names", "verdict", "the finding", "its sentence"):
        table.add_column(heading, overflow="fold")
    for r in results:
        names = "\n".join(r.entry.names)
        verdict = r.verdict if r.entry.names else "right, rejected"
        found = " + ".join(r.said.names)
        table.add_row(r.entry.exercise, r.entry.title, r.entry.says, names, verdict, found, r.said.sentence)
    return table


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "–"


def _or_blank(count: int) -> str:
    return str(count) if count else ""


def _chosen(entries: Iterable[Entry], options: argparse.Namespace) -> list[Entry]:
    from flashlearn.lessons import find

    return [
        e
        for e in entries
        if options.exercise in (None, e.exercise) and options.lesson in (None, find(e.exercise).lesson)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures; nothing is asserted here, that is what tests/corpus/test_corpus.py does."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__.splitlines()[0])
    parser.add_argument("--exercise", help="only this exercise")
    parser.add_argument("--lesson", help="only this lesson, as in 02")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: cores)")
    parser.add_argument("--compiled", type=int, default=0, help="so many entries on a CUDA GPU instead")
    parser.add_argument("--verbose", action="store_true", help="print each entry not named correctly")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 200)
    started = time.perf_counter()
    wrong, right = (_chosen(entries, options) for entries in (wrong_entries(), right_entries()))
    if options.compiled:
        results = list(compiled.measured(wrong, options.compiled))
        console.print(details(r for r in results if r.verdict != CORRECTLY))
        console.print(summary(results, []))
        return
    both = measured([*wrong, *right], max(1, min(options.jobs, len(wrong) + len(right))))
    results, rights = both[: len(wrong)], both[len(wrong) :]
    if options.verbose:
        faults = [r for r in results if r.verdict != CORRECTLY] + [r for r in rights if not r.said.passed]
        console.print(details(faults))
    console.print(by_exercise(results, rights))
    console.print(summary(results, rights))
    console.print(
        f"{len(both)} checks took {time.perf_counter() - started:.0f} s in {options.jobs} processes."
    )


if __name__ == "__main__":
    main()
