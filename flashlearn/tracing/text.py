"""A trace for `print`: the steps, loops folded, and the table of totals."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from flashlearn.explaining.findings.counts import all_of
from flashlearn.report.units import byte_size, plural
from flashlearn.tracing import wording

if TYPE_CHECKING:
    from flashlearn.tracing.data import ProgramTrace
    from flashlearn.tracing.steps import Step

WIDTH = 110
FIRST, LAST = 14, 6  # steps shown at the two ends of a long list


def render(trace: ProgramTrace) -> str:
    """The trace as plain text."""
    parts = [f"{trace.kernel}, {wording.headline(trace)}"]
    parts += [textwrap.fill(remark, WIDTH) for remark in wording.remarks(trace)]
    if trace.timeline is not None:
        parts.append(
            "\n".join(textwrap.fill(sentence, WIDTH) for sentence in wording.timeline(trace.timeline))
        )
    if trace.steps:
        parts.append("\n".join(_steps(trace.steps)))
    if trace.launch.tallies:
        parts.append("\n".join(_totals(trace)))
    return "\n\n".join(parts)


def _steps(steps: Sequence[Step]) -> list[str]:
    folded = len(steps) > FIRST + LAST + 1
    shown = [*steps[:FIRST], *steps[-LAST:]] if folded else list(steps)
    head = ("step", "line", "", "elements", "bytes", "new", "masked out")
    rows = [
        (
            str(step.number),
            str(step.line or "?"),
            wording.DOES[step.verb],
            step.where + (" (some)" if wording.scattered(step) else ""),
            byte_size(step.requested),
            byte_size(step.new),
            wording.share(step.masked / step.lanes) if step.lanes else "0%",
        )
        for step in shown
    ]
    lines = columns([head, *rows], right=(0, 1, 4, 5, 6))
    if folded:
        between = steps[FIRST:-LAST]
        where = sorted({step.line for step in between})
        lines.insert(FIRST + 1, f"   … {plural(len(between), 'step')} more, of {_lines(where)} …")
    return lines


def _lines(numbers: list[int]) -> str:
    shown = ", ".join(str(n) for n in numbers)
    return f"line {shown}" if len(numbers) == 1 else f"lines {shown}"


def _totals(trace: ProgramTrace) -> list[str]:
    """The program's totals, and beneath them the launch's; one number column each."""
    rows = wording.table(trace)
    count = math.prod(trace.grid)
    own = columns([("this program", *wording.TABLE_HEAD[1:]), *(row[:6] for row in rows)], right=(2, 3, 4, 5))
    if count == 1:
        return own
    title = all_of(count, "program")
    all_ = columns(
        [(title, *wording.TABLE_HEAD[1:]), *(row[:2] + row[6:] for row in rows)], right=(2, 3, 4, 5)
    )
    return [*own, "", *all_]


def columns(rows: Sequence[Sequence[str]], right: Sequence[int]) -> list[str]:
    """Rows of cells as aligned lines; the columns in `right` end at one edge."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
