"""An import that fails in a notebook made for an earlier version of the course: one sentence, no traceback.

    >>> from flashlearn.pictures import tour
    There is no flashlearn.pictures in this version. If your notebook comes from an earlier one, ...

The learner's copies in work/ are never overwritten, so they may import modules that have moved since.
"""

from __future__ import annotations

import os
import re
import sys
from importlib.machinery import ModuleSpec
from types import FrameType

SENTENCE = (
    "There is no {module} in this version of the course. If your notebook comes from an earlier version, "
    "run `flashlearn reset {number}` in a terminal: it brings today's lesson, and what you wrote is kept in "
    "work/old/."
)


class OutdatedLesson(ModuleNotFoundError):
    """A notebook imports a module of this package that does not exist; the message says what to do."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback through the import system."""
        return [str(self)]


class Finder:
    """The last entry of `sys.meta_path`: it is asked only for modules that no other finder has."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """None, as for any missing module. Raises OutdatedLesson if a notebook imports one of ours."""
        if not name.startswith("flashlearn."):
            return None
        importing = _importing_frame()
        if importing is None or importing.f_globals.get("__name__") != "__main__" or not _in_notebook():
            return None
        # without name=, `from flashlearn import x` does not replace this error with its own
        raise OutdatedLesson(SENTENCE.format(module=name, number=_lesson_number(importing)))


def install() -> None:
    """Answer failing imports of this package from here on."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)


def _importing_frame() -> FrameType | None:
    """The innermost frame outside the import system and this module."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _imports(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame


def _imports(module: str) -> bool:
    return module == __name__ or module.startswith("importlib")


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


def _lesson_number(importing: FrameType) -> str:
    """The number in the notebook's file name, which Jupyter and VS Code report; "NN" if neither does."""
    paths = (os.environ.get("JPY_SESSION_NAME", ""), str(importing.f_globals.get("__vsc_ipynb_file__", "")))
    found = next(filter(None, (re.search(r"(\d\d)_\w+\.ipynb$", path) for path in paths)), None)
    return found[1] if found else "NN"
