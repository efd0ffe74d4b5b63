"""START.md in work/: the page that JupyterLab opens until lesson 00 is started, with links to all lessons.

`flashlearn lab` writes it, and a check that passes brings it up to date.
"""

from __future__ import annotations

from pathlib import Path

from flashlearn.course.overview import Overview
from flashlearn.course.pages import overview_html

NAME = "START.md"
MARK = (
    "<!-- `flashlearn lab` writes this page anew whenever it starts, and a check when an exercise passes. -->"
)
MARKS = (MARK, "<!-- `flashlearn lab` writes this page anew whenever it starts. -->")

_PAGE = """\
{mark}

# FlashLearn

{lessons} lessons and {exercises} exercises, from an empty cell to FlashAttention's backward pass.
The lessons are notebooks in the same folder as this page; they are yours to edit.

{overview}

This page is written again whenever an exercise passes: close it and open it again to see that.
In a notebook, `flashlearn.status()` shows your current progress.
"""


def write(overview: Overview) -> Path | None:
    """Write the page into work/; None where that fails, or where the learner has a file of that name."""
    path = overview.course.work / NAME
    page = _PAGE.format(
        mark=MARK,
        lessons=len(overview.lessons),
        exercises=overview.total,
        overview=overview_html.render(overview, path.parent),
    )
    try:
        if path.exists() and not path.read_text(encoding="utf-8").startswith(MARKS):
            return None
        path.write_text(page, encoding="utf-8")
    except (OSError, ValueError):
        return None
    return path
