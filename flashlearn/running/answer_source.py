"""The source text of an answer, and the function rebuilt from that text after an edit."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import linecache
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flashlearn.outcome import Status
from flashlearn.running.counted_turns import COUNTER, Counter, compiled
from flashlearn.running.evidence import Raised

SEPARATOR = "\n\n\n"
"""The separator of two sections of a text."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Section:
    """One function of an answer, or one class of its own: its dedented text, and its first line."""

    name: str
    file: str
    line: int
    text: str


def sections(function: Callable[..., Any]) -> list[Section]:
    """Kernels, helpers and classes of the same file that a launcher uses, each after what it uses itself.

    Raises OSError or TypeError where there is no source to read.
    """
    found: dict[str, Section | None] = {}

    file, known = (own := inspect.unwrap(function)).__code__.co_filename, own.__globals__

    def visit(one: Callable[..., Any]) -> None:
        lines, first = _lines_of(one)
        text = textwrap.dedent("".join(lines)).rstrip("\n") + "\n"
        found[one.__qualname__] = None
        for name in [name for part in _functions(one) for name in names_used(part.__code__)]:
            used = getattr(known.get(name), "fn", known.get(name))
            ours = any(part.__code__.co_filename == file for part in _functions(used))
            if ours and used.__qualname__ not in found:
                visit(used)
        del found[one.__qualname__]
        found[one.__qualname__] = Section(one.__name__, file, first, text)

    visit(own)
    return [section for section in found.values() if section is not None]


def _functions(one: Any) -> list[types.FunctionType]:
    """A function, or those that a class defines; none of anything else."""
    if inspect.isfunction(one):
        return [one]
    defined = vars(one).values() if inspect.isclass(one) else ()
    unwrapped = [inspect.unwrap(getattr(method, "__func__", method)) for method in defined]
    return [method for method in unwrapped if inspect.isfunction(method)]


def _lines_of(one: Any) -> tuple[list[str], int]:
    """The lines of a function or class, and the number of the first; inspect finds no class of a notebook."""
    if not inspect.isclass(one):
        return inspect.getsourcelines(one)
    codes = [method.__code__ for method in _functions(one)]
    lines = linecache.getlines(codes[0].co_filename)
    for node in ast.walk(ast.parse("".join(lines))):
        if isinstance(node, ast.ClassDef) and node.name == one.__name__:
            first = min((node.lineno, *(decorator.lineno for decorator in node.decorator_list)))
            if all(first <= code.co_firstlineno <= node.end_lineno for code in codes):
                return lines[first - 1 : node.end_lineno], first
    raise OSError(f"there is no source of {one.__name__}")


def join(found: Sequence[Section]) -> str:
    """The sections as one text."""
    return SEPARATOR.join(section.text for section in found)


def source_of(function: Callable[..., Any]) -> str:
    """Sources of the kernels and helpers of the same file that a launcher uses, and then its own.

    Raises OSError or TypeError where there is no source to read.
    """
    return join(sections(function))


def names_used(code: types.CodeType) -> list[str]:
    """The global names and attributes that a function's code uses, inner functions included."""
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    return [*code.co_names, *(name for c in inner for name in names_used(c))]


@contextlib.contextmanager
def rebuilt(
    function: Callable[..., Any],
    found: Sequence[Section],
    texts: Mapping[int, str],
    turns: Counter | None = None,
) -> Iterator[Callable[..., Any]]:
    """The function with other `texts` in place of some of its sections `found`, within the block.

    The learner's namespace does not change: the rebuilt functions are in a copy of it. `turns` counts those
    of the loops that have no end in sight. Raises whatever the
    text raises when it is run, IndexError for a section that does not exist, ValueError if there is no text,
    and TypeError for a closure.
    """
    original = inspect.unwrap(function)
    if original.__closure__:
        raise TypeError("a function with a closure cannot be rebuilt from its text")
    for number in texts:
        if not 0 <= number < len(found):
            raise IndexError(f"there is no section {number}")
    first = min(texts)
    names: dict[str, Any] = {**original.__globals__, COUNTER: turns or Counter()}
    files: list[str] = []
    try:
        for number, section in enumerate(found[first:], first):
            used = original if section is found[-1] else names[section.name]
            if number in texts:
                _run(texts[number], names, files)
            elif inspect.isfunction(used) and not used.__closure__:  # it may use a section that was replaced
                names[section.name] = _rebound(used, names)
            else:
                _run("\n" * (section.line - 1) + section.text, names, files)
        yield names[found[-1].name]
    finally:
        for file in files:
            linecache.cache.pop(file, None)


def _run(text: str, names: dict[str, Any], files: list[str]) -> None:
    """Run a text as a file of its own, so that triton finds its lines."""
    files.append(file := f"<edited {next(_numbers)}>")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compiled(text, file), names)


def _rebound(function: types.FunctionType, names: dict[str, Any]) -> types.FunctionType:
    """The same function in another namespace."""
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def edit_failure(error: BaseException) -> Raised:
    """Records that an edited text raised; the details of an attempt do not matter."""
    return Raised(type(error).__name__, "", Status.CRASHED, "An edited text could not be run.")
