"""What was tried to make the package's backward pass faster: predictions, and what an H200 measured.

    >>> print(table(record()))

Each time is beside that of the kernel that it is compared with, measured by turns in the same call; speeds
are of the whole backward pass. An attempt without times was not measured.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flashlearn.lessons.lesson_13_hopper.timings import title

__all__ = ["record", "table"]

SHIPPED = Path(__file__).with_name("attempts_h200.json")
LENGTHS = (1024, 4096, 16384)
WIDE = 18
"""Characters of a column."""

Record = dict[str, Any]


def record() -> Record:
    """The record that comes with the lesson; times are in µs, predictions in per cent, lowest and highest."""
    return json.loads(SHIPPED.read_text(encoding="utf-8"))


def table(record: Record) -> str:
    """The attempts as lines: for each shape the prediction, and the change in speed, both in per cent."""
    lengths = "".join(f"{f'S {S}':{WIDE}}" for S in LENGTHS)
    lines = [title(record), f"change in speed, predicted: measured, in %{'':8}{lengths}".rstrip()]
    for attempt in record["attempts"]:
        lines.append(f"{attempt['key']:5} {attempt['idea']}, against {attempt['against']}")
        if not attempt["times"]:
            lines.append(f"{'':6}{_predicted(attempt['predicted'])}: not measured")
        for D, mask in dict.fromkeys((time["D"], time["mask"]) for time in attempt["times"]):
            times = [time for time in attempt["times"] if (time["D"], time["mask"]) == (D, mask)]
            cells = "".join(f"{_cell(times, S):{WIDE}}" for S in LENGTHS)
            lines.append(f"{'':6}{f'D {D}, {mask}':43}{cells}".rstrip())
    return "\n".join(lines)


def _cell(times: list[Record], S: int) -> str:
    """«+5: +3.9 +2.2» of two calls, «–» of none."""
    times = [time for time in times if time["S"] == S]
    if not times:
        return "–"
    measured = " ".join(f"{100 * (time['factor'] - 1):+.1f}" for time in times)
    return f"{_predicted(times[0]['predicted'])}: {measured}"


def _predicted(bounds: list[int] | None) -> str:
    if bounds is None:
        return "none"
    low, high = (f"{bound:+}" if bound else "0" for bound in bounds)
    return low if low == high else f"{low} … {high}"
