"""The learner's lines: which code objects are theirs, and which line of them is running."""

from __future__ import annotations

import linecache
import os
import sys
import weakref
from dataclasses import replace
from pathlib import Path
from types import CodeType

from flashlearn.observation import Place

LEARNER_CODE: weakref.WeakSet = weakref.WeakSet()
"""Code objects of the kernels and helpers that run interpreted."""

_INTERPRETER = str(Path(__file__).parent)
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
_COURSE = (f"{_PACKAGE}kernels{os.sep}", f"{_PACKAGE}lessons{os.sep}")

Program = tuple[int, int, int]
"""A program's indices in its grid."""


def find_place(program: Program | None = None) -> Place | None:
    """The learner's line that is running now, in the innermost frame of a kernel, and its callers' lines.

    A line of another file is left out: a kernel of the course may call what the learner wrote.
    """
    found, calls, frame = None, [], sys._getframe(1)
    while frame is not None:
        if frame.f_code in LEARNER_CODE and found is None:
            found = place_of(frame.f_code, frame.f_lineno, program)
        elif frame.f_code in LEARNER_CODE and frame.f_code.co_filename == found.file:
            calls.append(frame.f_lineno)
        frame = frame.f_back
    return replace(found, calls=tuple(calls)) if calls else found


def place_of(code: CodeType, line: int, program: Program | None = None) -> Place:
    """A `Place` with the line's text."""
    text = linecache.getline(code.co_filename, line).rstrip()
    return Place(code.co_filename, line, text, code.co_name, program)


def place_of_error(error: BaseException, program: Program | None = None) -> Place | None:
    """The learner's line that an exception came from: the innermost one of its traceback."""
    found, calls, step = None, [], error.__traceback__
    while step is not None:
        if step.tb_frame.f_code in LEARNER_CODE:
            calls += [found] if found is not None else []
            found = place_of(step.tb_frame.f_code, step.tb_lineno, program)
        step = step.tb_next
    lines = tuple(one.line for one in reversed(calls) if one.file == found.file)
    return replace(found, calls=lines) if lines else found


def runs_in_course() -> bool:
    """True if a function of the course is running that the learner's code has called."""
    frame = sys._getframe(1)
    while frame is not None and _is_below(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or not frame.f_code.co_filename.startswith(_COURSE):
        return False
    while frame is not None and frame.f_code.co_filename.startswith(_COURSE):
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith(_PACKAGE)


def is_kernel_of_course(place: Place | None) -> bool:
    """True for a line of a kernel that the course provides: what an answer gives it may be what is wrong."""
    return place is not None and place.file.startswith(_COURSE[0])


def _is_below(file: str) -> bool:
    """Whether a file is torch's or the interpreter's, which any allocation passes."""
    return file.startswith(_INTERPRETER) or "/torch/" in file.replace("\\", "/")
