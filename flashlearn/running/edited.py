"""An answer's own text, and the same function made from that text after an edit."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import linecache
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flashlearn.outcome import Status
from flashlearn.running.evidence import Raised

BETWEEN = "\n\n\n"
"""What stands between two sections of a text."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Section:
    """One function of an answer: its text, without the indentation it had, and the line where it begins."""

    name: str
    file: str
    line: int
    text: str


def sections(function: Callable[..., Any]) -> list[Section]:
    """Kernels and helpers of the same file that a launcher uses, each after what it uses, and then itself.

    Raises OSError or TypeError where there is no source to read.
    """
    found: dict[str, Section | None] = {}

    def visit(one: Callable[..., Any]) -> None:
        lines, first = inspect.getsourcelines(one)
        text = textwrap.dedent("".join(lines)).rstrip("\n") + "\n"
        found[one.__qualname__] = None
        for name in names_used(one.__code__):
            used = getattr(one.__globals__.get(name), "fn", one.__globals__.get(name))
            ours = inspect.isfunction(used) and used.__code__.co_filename == one.__code__.co_filename
            if ours and used.__qualname__ not in found:
                visit(used)
        del found[one.__qualname__]
        found[one.__qualname__] = Section(one.__name__, one.__code__.co_filename, first, text)

    visit(inspect.unwrap(function))
    return [section for section in found.values() if section is not None]


def joined(found: Sequence[Section]) -> str:
    """The sections as one text."""
    return BETWEEN.join(section.text for section in found)


def source_of(function: Callable[..., Any]) -> str:
    """Sources of the kernels and helpers of the same file that a launcher uses, and then its own.

    Raises OSError or TypeError where there is no source to read.
    """
    return joined(sections(function))


def names_used(code: types.CodeType) -> list[str]:
    """The global names and attributes that a function's code uses, inner functions included."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [*code.co_names, *(name for c in inner for name in names_used(c))]


@contextlib.contextmanager
def made_from(function: Callable[..., Any], text: str) -> Iterator[Callable[..., Any]]:
    """The function that an edited text of another one makes, as long as the block lasts.

    The learner's namespace stays as it is: the text runs in a copy of it. Raises whatever the text raises
    when it is run, and TypeError for a function that holds on to variables of another one.
    """
    original = inspect.unwrap(function)
    if original.__closure__:
        raise TypeError("a function with a closure cannot be made anew from its text")
    names, file = dict(original.__globals__), f"<edited {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        exec(compile(text, file, "exec"), names)
        yield names[original.__name__]
    finally:
        linecache.cache.pop(file, None)


def failed(error: BaseException) -> Raised:
    """That something was raised; nobody asks for more of an attempt."""
    return Raised(type(error).__name__, "", Status.CRASHED, "An edited text could not be run.")


def original_line(found: Sequence[Section], line: int) -> tuple[Section, int]:
    """The section in which a line of the joined text stands, and its number in the learner's file."""
    for section in found[:-1]:
        count = section.text.count("\n")
        if line <= count:
            return section, section.line + line - 1
        line -= count + BETWEEN.count("\n")
    return found[-1], found[-1].line + line - 1
