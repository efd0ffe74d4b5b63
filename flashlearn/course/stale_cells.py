"""A warning if the last run of an answer's cell failed before it defined the function.

In Jupyter a cell that ends in an error before its `def` leaves the function of an earlier run in place, and a
check would judge that one. IPython records what was run, so this can be detected. Text on the screen that was
never run cannot: the session does not see it.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any

from flashlearn.course.answer_parts import Part, parts_of


def stale_sentence(answer: Callable[..., Any]) -> str:
    """A sentence if a part of the answer is older than the last run of a cell that should define it."""
    shell = _shell()
    if shell is None:
        return ""
    with contextlib.suppress(Exception):  # IPython's history is not ours; the report must not fail
        return _stale(shell, _Cells(shell), parts_of(answer))
    return ""


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


class _Cells:
    """The cells that were run in this session, in order; the one that is running now is left out."""

    def __init__(self, shell: Any):
        self.shell = shell
        self.texts: list[str] = list(shell.history_manager.input_hist_raw)[:-1]
        self._python: dict[str, str] = {}

    def last_of(self, part: Part) -> int | None:
        """The last run of the cell that the function comes from."""
        text = _lines_of(part.function.__code__.co_filename)
        name = part.function.__name__
        runs = (i for i, raw in enumerate(self.texts) if name in raw and self.python(raw) == text)
        return max(runs, default=None) if text else None

    def last_to_define(self, name: str) -> int | None:
        """The last run of any cell with a `def` of the name, whether that line was reached or not."""
        runs = (i for i, raw in enumerate(self.texts) if self._defines(raw, name))
        return max(runs, default=None)

    def assigned_since(self, name: str, own: int) -> bool:
        """True if a later cell assigns to the name."""
        return any(re.search(rf"^{name}\s*=", raw, re.MULTILINE) for raw in self.texts[own + 1 :])

    def python(self, raw: str) -> str:
        """A cell's text without IPython's own syntax."""
        if raw not in self._python:
            self._python[raw] = raw.strip()
            with contextlib.suppress(SyntaxError):
                self._python[raw] = self.shell.transform_cell(raw).strip()
        return self._python[raw]

    def _defines(self, raw: str, name: str) -> bool:
        if not re.search(rf"^def\s+{name}\s*\(", raw, re.MULTILINE):
            return False
        try:
            body = ast.parse(self.python(_without_magic(raw))).body
        except SyntaxError:
            return True
        return any(isinstance(node, ast.FunctionDef) and node.name == name for node in body)


def _stale(shell: Any, cells: _Cells, parts: list[Part]) -> str:
    late: dict[int, list[str]] = {}
    for part in parts:
        if shell.user_ns.get(part.name) is not part.value:
            continue  # an older version, or another function, was passed on purpose
        name = part.function.__name__
        own, last = cells.last_of(part), cells.last_to_define(name)
        if own is not None and last is not None and last > own and not cells.assigned_since(name, own):
            late.setdefault(last, []).append(part.name)
    if not late:
        return ""
    last = max(late)
    names = " and ".join(sorted(late[last]))
    why = _why(cells, cells.texts[last])
    return (
        f"The last run of your cell did not define {names}: {why}. This report is about the previous version."
    )


def _why(cells: _Cells, raw: str) -> str:
    """Why a cell did not complete: a syntax error, or the session's last exception."""
    below = _without_magic(raw)
    try:
        ast.parse(cells.python(below))
    except SyntaxError as error:
        return f"{type(error).__name__} in line {(error.lineno or 1) + (below != raw)}"
    error = getattr(sys, "last_value", None)
    steps = list(traceback.walk_tb(error.__traceback__)) if error is not None else []
    own = [line for frame, line in steps if _lines_of(frame.f_code.co_filename) == cells.python(raw)]
    return f"{type(error).__name__} in line {own[0]}" if own else "it stopped with an error before"


def _without_magic(raw: str) -> str:
    """A cell without its first line, if that is one such as %%time."""
    return raw.partition("\n")[2] if raw.startswith("%%") else raw


def _lines_of(file: str) -> str:
    return "".join(linecache.getlines(file)).strip()
