"""Two runs of the corpus side by side: what a change of the grader has done to verdicts and sentences.

$ python -m tests.corpus --exercise row_sum --save before.json
$ python -m tests.corpus --exercise row_sum --compare before.json               # a run of now beside it
$ python -m tests.corpus --compare before.json after.json                       # two saved runs
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from tests.corpus.measure import Measurement

Run = Mapping[str, Mapping[str, Any]]
"""By "LABEL EXERCISE: TITLE", what a check found, with the verdict for a wrong answer."""

COMPARED = ("verdict", "status", "names", "partial", "line")
"""What a change of the grader's words must leave as it is."""

DURATION = re.compile(r"\d+(\.\d+)? ?(µs|ms|s|GB/s|TFLOP/s|GFLOP/s)\b")


def run_of(measurements: Sequence[Measurement]) -> Run:
    """What is compared of a run, and what each check cost."""
    run = {}
    for each in measurements:
        label = "wrong" if each.entry.names else "right"
        verdict = each.verdict if each.entry.names else ("passed" if each.result.passed else "rejected")
        found = {**dataclasses.asdict(each.result), "names": list(each.result.names), "verdict": verdict}
        run[f"{label} {each.entry}"] = found
    return run


def save(run: Run, path: Path) -> None:
    """Write a run as JSON."""
    path.write_text(json.dumps(run, ensure_ascii=False, indent=1) + "\n")


def load(path: Path) -> Run:
    """A run that `save` wrote."""
    return json.loads(path.read_text())


def differences(before: Run, after: Run) -> Table:
    """A row for each verdict and sentence that differs; durations in sentences do not count."""
    table = Table(box=box.SIMPLE_HEAD, show_lines=True, title="Before and after")
    for heading in ("answer", "what differs", "before", "after"):
        table.add_column(heading, overflow="fold")
    for key in _common(before, after):
        for field in changed_fields(before[key], after[key]):
            table.add_row(key, field, _shown(before[key][field]), _shown(after[key][field]))
    return table


def totals(before: Run, after: Run) -> str:
    """How many answers were compared, how many differ, and the processor time of both runs."""
    common = _common(before, after)
    changed = [changed_fields(before[key], after[key]) for key in common]
    verdicts = sum(bool(set(fields) - {"sentence"}) for fields in changed)
    sentences = sum("sentence" in fields for fields in changed)
    seconds = [sum(run[key]["processor_seconds"] for key in common) for run in (before, after)]
    return (
        f"{len(common)} answers in both runs, {len(before.keys() ^ after.keys())} in one alone; "
        f"{verdicts} verdicts and {sentences} sentences differ; "
        f"processor time {seconds[0]:.1f} s before, {seconds[1]:.1f} s after."
    )


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Which of an answer's verdict, status, names, partiality, line and sentence differ."""
    changed = [field for field in COMPARED if old[field] != new[field]]
    if DURATION.sub("…", old["sentence"]) != DURATION.sub("…", new["sentence"]):
        changed.append("sentence")
    return changed


def _common(before: Run, after: Run) -> list[str]:
    return [key for key in after if key in before]


def _shown(value: Any) -> str:
    return " + ".join(value) if isinstance(value, list) else str(value)
