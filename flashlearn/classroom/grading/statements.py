"""Python text by its top-level statements: the names they bind and use, and those that a name needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_MAGIC = re.compile(r"^(\s*)(?:%|!|\?|[\w.]+\?+\s*$)")
CHANGES = frozenset({"add", "append", "extend", "insert", "register", "setdefault", "update"})
"""Methods that change a value after it was bound to a name."""
_CELL_MAGIC = re.compile(r"^\s*%%")
_RUNS_PYTHON = re.compile(r"^\s*%%(?:time|timeit|capture|prun)\b")
"""Cell magics below which the cell's text is Python all the same."""


@dataclass(frozen=True)
class Statement:
    """A top-level statement: the names that it binds, those that it uses, and its cell."""

    node: ast.stmt
    binds: frozenset[str]
    uses: frozenset[str]
    cell: int = 0

    @property
    def first(self) -> int:
        """Its first line, decorators included."""
        decorators = getattr(self.node, "decorator_list", [])
        return min([self.node.lineno, *(one.lineno for one in decorators)])


def statements(text: str, cell: int = 0) -> list[Statement]:
    """The top-level statements of a text. Raises SyntaxError."""
    return [
        Statement(node, frozenset(_binds(node)), frozenset(_free(node)), cell)
        for node in ast.parse(text).body
    ]


def _free(node: ast.AST) -> set[str]:
    """The free names of a node: none of a function's local ones."""
    found: set[str] = set()
    own: set[str] = set()
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    if is_function:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        own = {one.arg for one in (*every, arguments.vararg, arguments.kwarg) if one is not None}
    todo = list(ast.iter_child_nodes(node))
    while todo:
        one = todo.pop()
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            found |= _free(one)
            own |= {one.name} if is_function and not isinstance(one, ast.Lambda) else set()
            continue
        if isinstance(one, ast.Name):
            (found if isinstance(one.ctx, ast.Load) or not is_function else own).add(one.id)
        elif isinstance(one, ast.Global):
            found |= set(one.names)
        todo += ast.iter_child_nodes(one)
    return found - own


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in one.names}
        elif isinstance(one, ast.FunctionDef | ast.ClassDef):
            found.add(one.name)
        elif isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.add(one.id)
        elif isinstance(one, ast.Subscript | ast.Attribute) and not isinstance(one.ctx, ast.Load):
            found |= _root(one)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in CHANGES:
            found |= _root(one.func)
    return found


def _root(node: ast.AST) -> set[str]:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def needed(
    of: Sequence[Statement], wanted: Iterable[str], also: Callable[[Statement], bool] = lambda one: False
) -> list[Statement]:
    """The statements that bind the wanted names, those that bind what these use, and so on; in order."""
    names, chosen, fresh = set(wanted), set(), True
    while fresh:
        fresh = False
        for number, one in enumerate(of):
            if number not in chosen and (also(one) or one.binds & names):
                chosen.add(number)
                names |= one.uses
                fresh = True
    return [one for number, one in enumerate(of) if number in chosen]


def blanked(text: str, chosen: Sequence[Statement]) -> str:
    """The text with all other statements blanked: every line keeps its number."""
    lines = text.splitlines()
    keep = {n for one in chosen for n in range(one.first, (one.node.end_lineno or one.first) + 1)}
    shown = [line if number in keep else "" for number, line in enumerate(lines, 1)]
    return "\n".join(shown).rstrip() + "\n" if shown else ""


def without_magics(text: str) -> tuple[str, int]:
    """The text with magics replaced by `pass`, line by line, and the number of lines replaced."""
    lines = text.splitlines()
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines and _RUNS_PYTHON.match(lines[first]):
        below, count = without_magics("\n".join(["", *lines[first + 1 :]]))
        return "\n" * first + below, count + 1
    if lines and _CELL_MAGIC.match(lines[first]):
        return "\n" * len(lines), len(lines)
    found = [_MAGIC.match(line) if _is_magic(line) else None for line in lines]
    if not any(found) or _parses(text):
        return text, 0
    shown = [f"{one[1]}pass" if one else line for one, line in zip(found, lines, strict=True)]
    return "\n".join(shown) + "\n", sum(one is not None for one in found)


def _is_magic(line: str) -> bool:
    return bool(_MAGIC.match(line)) and not line.lstrip().startswith("!=")


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
