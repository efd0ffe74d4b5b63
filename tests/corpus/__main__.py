"""How the grader names every answer of the corpus: `python -m tests.corpus`.

A wrong answer counts as named correctly if its finding is one of the names that its label lists; as named in
part if the finding is one of two mistakes and says that there is more, or an edit that makes every case right
and that the label does not list; as unnamed if there is no finding or one that only says where or what was
observed; and as named wrongly otherwise.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from tests.corpus import comparison, compiled
from tests.corpus.answer_files import ANSWERS, header_and_body
from tests.corpus.entries import Entry, find_entries, right_entries, wrong_entries
from tests.corpus.measure import ACCEPTED, CORRECTLY, VERDICTS, Measurement, measure


def summary(wrong: Sequence[Measurement], right: Sequence[Measurement]) -> Table:
    """Counts over all entries, and how long the failing checks took."""
    table = Table(box=box.SIMPLE_HEAD, title="The corpus")
    table.add_column("")
    table.add_column("entries", justify="right")
    counts = Counter(each.verdict for each in wrong)
    table.add_row("wrong answers", str(len(wrong)))
    table.add_row("  rejected", f"{len(wrong) - counts[ACCEPTED]} of {len(wrong)}")
    for verdict in VERDICTS[:-1]:
        table.add_row(f"  {verdict}", f"{counts[verdict]} ({_share(counts[verdict], len(wrong))})")
    table.add_row("right answers", str(len(right)))
    table.add_row("  rejected", str(sum(not each.result.passed for each in right)))
    failing = [each for each in wrong if not each.result.passed]
    durations = {
        "": lambda each: each.result.seconds,
        " of the processor": lambda each: each.result.processor_seconds,
    }
    for kind, duration in durations.items() if failing else ():
        slowest = max(failing, key=duration)
        table.add_row(
            f"seconds{kind}, median failing check", f"{statistics.median(map(duration, failing)):.2f}"
        )
        table.add_row(f"  largest ({slowest.entry.exercise})", f"{duration(slowest):.2f}")
    return table


def by_exercise(wrong: Sequence[Measurement], right: Sequence[Measurement]) -> Table:
    """The same counts, a row per exercise."""
    table = Table(box=box.SIMPLE_HEAD, title="By exercise")
    table.add_column("exercise")
    for heading in ("wrong", *VERDICTS, "right", "right rejected", "median s", "largest s"):
        table.add_column(heading, justify="right")
    for exercise in dict.fromkeys(each.entry.exercise for each in (*wrong, *right)):
        its_wrong = [each for each in wrong if each.entry.exercise == exercise]
        its_right = [each for each in right if each.entry.exercise == exercise]
        counts = Counter(each.verdict for each in its_wrong)
        seconds = [each.result.seconds for each in its_wrong if not each.result.passed]
        times = (f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}") if seconds else ("", "")
        shown = [_or_blank(n) for n in (len(its_wrong), *(counts[v] for v in VERDICTS))]
        rejected = _or_blank(sum(not each.result.passed for each in its_right))
        table.add_row(exercise, *shown, _or_blank(len(its_right)), rejected, *times)
    return table


def details(measurements: Iterable[Measurement]) -> Table:
    """Every wrong entry that is not named correctly, and every right one that is rejected."""
    table = Table(box=box.SIMPLE_HEAD, show_lines=True, title="Not as labelled")
    for heading in ("exercise", "title", "a teacher says", "names", "verdict", "the finding", "its sentence"):
        table.add_column(heading, overflow="fold")
    for each in measurements:
        entry, result = each.entry, each.result
        names = "\n".join(entry.names)
        verdict = each.verdict if entry.names else "right, rejected"
        found = " + ".join(result.names)
        table.add_row(entry.exercise, entry.title, entry.says, names, verdict, found, result.sentence)
    return table


def shown(name: str) -> str:
    """The labels and whole texts of the answers called EXERCISE/TITLE or EXERCISE/FILE.

    Raises LookupError if there are none.
    """
    exercise, _, title = name.partition("/")
    entries = find_entries(exercise, title.removesuffix(".py"))
    if not entries:
        raise LookupError(
            f"no answer to {exercise!r} is called {title!r}; {ANSWERS} has a folder per exercise"
        )
    return "\n\n".join(_with_label(entry) for entry in entries)


def _with_label(entry: Entry) -> str:
    header, _ = header_and_body(entry.key)
    return "\n".join([*(f"# {key}: {value}" for key, value in header.items()), "", entry.text])


def _share(count: int, total: int) -> str:
    return f"{100 * count / total:.0f} %" if total else "–"


def _or_blank(count: int) -> str:
    return str(count) if count else ""


def _chosen(entries: Iterable[Entry], options: argparse.Namespace) -> list[Entry]:
    from flashlearn.lessons import find

    return [
        e
        for e in entries
        if options.exercise in (None, e.exercise) and options.lesson in (None, find(e.exercise).lesson)
    ]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; ends the process where they contradict one another."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__.splitlines()[0])
    parser.add_argument("--exercise", help="only this exercise")
    parser.add_argument("--lesson", help="only this lesson, as in 02")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: cores)")
    parser.add_argument(
        "--compiled", type=int, default=0, help="this number of entries on a CUDA GPU instead"
    )
    parser.add_argument("--verbose", action="store_true", help="print each entry not named correctly")
    parser.add_argument("--show", metavar="EXERCISE/TITLE", help="print the whole text of an answer instead")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write verdicts and sentences to this file")
    parser.add_argument(
        "--compare",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="a saved run beside this one, or two saved runs",
    )
    options = parser.parse_args(arguments)
    if options.compare and len(options.compare) > 2:
        parser.error("--compare takes one file or two")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures; nothing is asserted here, that is what tests/corpus/test_corpus.py does."""
    options = parsed(arguments)
    if options.show:
        try:
            print(shown(options.show), end="")
        except LookupError as error:
            sys.exit(str(error))
        return
    console = Console(width=None if sys.stdout.isatty() else 200)
    if options.compare and len(options.compare) == 2:
        _compare(console, *map(comparison.load, options.compare))
        return
    started = time.perf_counter()
    wrong_answers, right_answers = (_chosen(each, options) for each in (wrong_entries(), right_entries()))
    if options.compiled:
        measurements = list(compiled.measure(wrong_answers, options.compiled))
        console.print(details(each for each in measurements if each.verdict != CORRECTLY))
        console.print(summary(measurements, []))
        return
    count = len(wrong_answers) + len(right_answers)
    measurements = measure([*wrong_answers, *right_answers], max(1, min(options.jobs, count)))
    wrong, right = measurements[: len(wrong_answers)], measurements[len(wrong_answers) :]
    if options.verbose:
        unexpected = [each for each in wrong if each.verdict != CORRECTLY]
        console.print(details([*unexpected, *(each for each in right if not each.result.passed)]))
    console.print(by_exercise(wrong, right))
    console.print(summary(wrong, right))
    console.print(f"{count} checks took {time.perf_counter() - started:.0f} s in {options.jobs} processes.")
    run = comparison.run_of(measurements)
    if options.save:
        comparison.save(run, options.save)
    if options.compare:
        _compare(console, comparison.load(options.compare[0]), run)


def _compare(console: Console, before: comparison.Run, after: comparison.Run) -> None:
    table = comparison.differences(before, after)
    if table.row_count:
        console.print(table)
    console.print(comparison.totals(before, after))


if __name__ == "__main__":
    main()
