"""Where a report is shown: in a notebook, a terminal, or nowhere that anybody looks at."""

from __future__ import annotations

import os
import sys
from typing import Any


def in_a_notebook() -> bool:
    """True in a Jupyter kernel; False in plain Python and in IPython's terminal, which cannot redraw."""
    return hasattr(_shell(), "kernel")


def execution() -> int | None:
    """The number of the cell's run that is under way."""
    return getattr(_shell(), "execution_count", None)


def coloured() -> bool:
    """True in a terminal that shows colours, and where they are wanted."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
