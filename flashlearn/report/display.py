"""Where a report is shown, and showing it: at once, and once more when the compilers' figures arrive."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import sys
from concurrent.futures import Future
from typing import Any, Protocol

LONGEST_WAIT = 120.0  # seconds, where FLASHLEARN_WAIT=1 asks for a complete report


class Displayable(Protocol):
    """What can be shown: as HTML in a notebook, as text elsewhere."""

    def _repr_html_(self) -> str: ...

    def text(self, width: int = ..., colour: bool = ...) -> str:
        """The text for a terminal."""
        ...


def show(report: Displayable, pending: Future | None, handle: Any) -> None:
    """Show the report as a card in a notebook, as text anywhere else; again when `pending` is done.

    `handle` is the display handle of an output of this cell that the card replaces; None for a new output.
    """
    if pending is not None and os.environ.get("FLASHLEARN_WAIT") == "1":
        concurrent.futures.wait([pending], LONGEST_WAIT)
    if not in_a_notebook():
        print(report.text(colour=has_colours()))
        return
    is_waiting = pending is not None and not pending.done()
    handle = _shown(report, handle)
    if pending is not None and is_waiting and handle is not None:
        pending.add_done_callback(lambda _: _update(handle, report))


def in_a_notebook() -> bool:
    """True in a Jupyter kernel; False in plain Python and in IPython's terminal, which cannot redraw."""
    return hasattr(_shell(), "kernel")


def execution_count() -> int | None:
    """The number of the cell's current run."""
    return getattr(_shell(), "execution_count", None)


def has_colours() -> bool:
    """True in a terminal that shows colours, and where they are wanted."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _shown(report: Displayable, handle: Any) -> Any:
    """The card's display handle."""
    if handle is not None:
        handle.update(_bundle(report), raw=True)
        return handle
    from IPython.display import display

    return display(_bundle(report), raw=True, display_id=True)


def _update(handle: Any, report: Displayable) -> None:
    """Replace the card, from the thread that finished the compilation.

    By now the session may be shutting down or its sockets closed: then the card is no longer visible, and an
    error would have no reader. A cell that ran again has a new card.
    """
    if sys.is_finalizing():
        return
    with contextlib.suppress(Exception):
        handle.update(_bundle(report), raw=True)


def _bundle(report: Displayable) -> dict[str, str]:
    return {"text/html": report._repr_html_(), "text/plain": str(report)}
