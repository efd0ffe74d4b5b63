"""The capstone's leaderboard as one static page: for each device the ladder over time, and its entries.

    >>> Path("leaderboard.html").write_text(render(Leaderboard().entries()))

The page needs nothing but itself: its style and pictures are in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flashlearn.course.leaderboard import Entry, by_device
from flashlearn.course.pages.template_environment import environment

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 220, 44, 34, 14
"""The picture's size and margins, in units of its own."""


def render(entries: Sequence[Entry]) -> str:
    """The page of these entries."""
    groups = by_device(sorted(entries, key=lambda entry: -entry.ratio))
    devices = [{"name": name, "entries": found, **_ladder(found)} for name, found in groups.items()]
    return (
        environment()
        .get_template("leaderboard.html.j2")
        .render(devices=devices, width=WIDTH, height=HEIGHT, left=LEFT, bottom=BOTTOM)
    )


def _ladder(entries: Sequence[Entry]) -> dict[str, Any]:
    """Points in the order of time, the line of the best so far, and the marks of the vertical axis."""
    ordered = sorted(entries, key=lambda entry: entry.time)
    most = max(1.1, *(1.1 * entry.ratio for entry in ordered))
    step = next(step for step in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 1e9) if most / step <= 6)
    best, points, line = 0.0, [], []
    for number, entry in enumerate(ordered):
        x, y = _across(number, len(ordered)), _up(entry.ratio, most)
        points.append({"x": x, "y": y, "entry": entry})
        if line:
            line.append((x, _up(best, most)))
        best = max(best, entry.ratio)
        line.append((x, _up(best, most)))
    marks = [{"y": _up(n * step, most), "text": f"{n * step:g}"} for n in range(int(most / step) + 1)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
    return {"points": points, "line": path, "marks": marks, "sdpa": _up(1.0, most), "best": best}


def _across(number: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - 20) * (number + 0.5) / count


def _up(ratio: float, most: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * ratio / most, 1)
