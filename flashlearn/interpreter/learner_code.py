"""The learner's lines: which code objects are theirs, and which line of them is running."""

from __future__ import annotations

import linecache
import sys
import weakref
from dataclasses import replace
from types import CodeType

from flashlearn.observation import Place

LEARNER_CODE: weakref.WeakSet = weakref.WeakSet()
"""Code objects of the kernels and helpers that run interpreted."""

Program = tuple[int, int, int]
"""A program's indices in its grid."""


def find_place(program: Program | None = None) -> Place | None:
    """The learner's line that is running now, in the innermost frame of a kernel, and its callers' lines."""
    found, calls, frame = None, [], sys._getframe(1)
    while frame is not None:
        if frame.f_code in LEARNER_CODE and found is None:
            found = place_of(frame.f_code, frame.f_lineno, program)
        elif frame.f_code in LEARNER_CODE:
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
            calls += [found.line] if found is not None else []
            found = place_of(step.tb_frame.f_code, step.tb_lineno, program)
        step = step.tb_next
    return replace(found, calls=tuple(reversed(calls))) if calls else found
