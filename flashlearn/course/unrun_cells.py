"""A NameError in a cell of the course: which cells are to be run first, in place of a bare traceback.

After a restart of the kernel nothing of the notebook is known, and a check alone stops at its first name.

Only the standard library is imported: `flashlearn lab` has kernels run this file when they start
(cli/jupyter/startup.py), before the course is imported.
"""

from __future__ import annotations

import contextlib
import re
import sys
from types import TracebackType
from typing import Any

OF_THE_COURSE = re.compile(r"\bflashlearn\.\w+")
ABOVE = "Run → Run All Above Selected Cell runs everything that comes before this cell."
NOTHING = (
    "This kernel does not know {name} yet: it has been restarted, or the lesson's first cells have not run. "
    "Run the cell with the imports and your answer's cell, then this one. {above}"
)
NOT_DEFINED = (
    "This kernel does not know {name} yet: run the cell that defines it, with the cells that it needs, then "
    "this one. {above}"
)


def install() -> None:
    """Answer NameErrors of this notebook from here on, unless somebody else answers exceptions already."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel") and not shell.custom_exceptions:
        shell.set_custom_exc((NameError,), _shown)


def sentence(name: str, cell: str) -> str:
    """What to run before `cell`, which stopped at `name`; "" for a cell that is no part of the course."""
    if name == "flashlearn":
        return NOTHING.format(name=name, above=ABOVE)
    return NOT_DEFINED.format(name=name, above=ABOVE) if name and OF_THE_COURSE.search(cell) else ""


def _shown(
    shell: Any,
    kind: type[BaseException],
    error: NameError,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """IPython's way to show an exception; one at the top of a cell of the course is shown as a sentence."""
    with contextlib.suppress(Exception):  # what IPython keeps of a cell is not ours
        words = sentence(error.name or "", shell.history_manager.input_hist_raw[-1])
        if words and not isinstance(error, UnboundLocalError) and _is_of_the_cell(trace):
            error._render_traceback_ = lambda: [f"NameError: {words}"]
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)


def _is_of_the_cell(trace: TracebackType) -> bool:
    """True if the cell's own lines raised it, and no function that they call."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_name == "<module>"
