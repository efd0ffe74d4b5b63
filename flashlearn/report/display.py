"""Showing a report: at once, and once more when the compiled budgets arrive."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from flashlearn.report import surroundings

if TYPE_CHECKING:
    from flashlearn.report import Report

LONGEST_WAIT = 120.0  # seconds, where FLASHLEARN_WAIT=1 asks for a complete report


def show(report: Report) -> None:
    """Show the report as a card in a notebook, as text anywhere else."""
    if report.budgets is not None and os.environ.get("FLASHLEARN_WAIT") == "1":
        concurrent.futures.wait([report.budgets], LONGEST_WAIT)
    if not surroundings.in_a_notebook():
        print(report.text(colour=surroundings.coloured()))
        return
    pending = report.budgets is not None and not report.budgets.done()
    handle = _shown(report)
    if pending and handle is not None:
        report.budgets.add_done_callback(lambda _: _fill_in(handle, report))


def _shown(report: Report) -> Any:
    """The card's handle: it takes the place of the line that said how far the check was, if there is one."""
    line = getattr(report.waiting, "line", None)
    handle = line.take() if hasattr(line, "take") else None
    if handle is not None:
        handle.update(_bundle(report), raw=True)
        return handle
    from IPython.display import display

    return display(_bundle(report), raw=True, display_id=True)


def _fill_in(handle: Any, report: Report) -> None:
    """Replace the card, from the thread that finished the compilation.

    By now the session may be shutting down or its sockets closed: then nobody looks at the card any
    more, and there is nobody to tell. A cell that ran again has a card of its own; this one is gone.
    """
    if sys.is_finalizing():
        return
    with contextlib.suppress(Exception):
        handle.update(_bundle(report), raw=True)


def _bundle(report: Report) -> dict[str, str]:
    return {"text/html": report._repr_html_(), "text/plain": str(report)}
