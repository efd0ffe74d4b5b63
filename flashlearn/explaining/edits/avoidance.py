"""Edits that avoid a mistake and do not correct it: another flag, threshold or grid, no access at all.

BLOCK = 16            # for 32: the mistake shows in larger tiles only
inner(..., True)      # every tile is masked, so the bound between the loops no longer matters
kernel[(1,)](...)     # a single program cannot race

That everything passes with them is true, and says nothing about the line that they change.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from flashlearn.explaining.edits.comparisons import COMPARISON
from flashlearn.explaining.edits.edit import Edit, SourceText, name_of, names_in
from flashlearn.explaining.edits.name_families import POINTER
from flashlearn.explaining.edits.names import CONSTANT, OTHER_NAME, SIZE
from flashlearn.explaining.edits.operators import OPERATOR, REDUNDANT_OPERAND, TILES_TO_ELEMENTS
from flashlearn.explaining.edits.slicing import assignments

CONFIGURATION = re.compile(r"\b[A-Z][A-Z_\d]* ?= ?$")
"""Before a number that chooses a block or a grouping: another may just avoid a mistake in the kernel."""

HUGE = 1e3
"""A number of this size stands for infinity: 0 in its place has another meaning."""

LIBRARIES = ("torch", "tl", "gl", "sp", "sympy", "np", "math", "F")
NUMBER = re.compile(r"[-+]? ?\d+(\.\d*)?(e[-+]?\d+)?$", re.IGNORECASE)
FLAGS = ("True", "False")
ADDRESS = ("address", "strides")
DIVISIONS = ast.FloorDiv | ast.Mod
COVERING = {"next_power_of_2", "bit_length"}
"""Calls that make a tile as large as a dimension needs: there the size is no choice."""


def avoids(text: str, edit: Edit) -> bool:
    """Whether an edit of a section's text may merely avoid its mistake."""
    if edit.kind is OPERATOR:
        return _turns_a_shift_round(edit)
    if edit.kind is TILES_TO_ELEMENTS:
        return any(edit.line == line for line in _counts_that_divide(text))
    if edit.kind.name == "redundant statement":
        return edit.line in _lines_of_numbers(text)
    if edit.kind not in (CONSTANT, SIZE):
        return False
    if edit.old in FLAGS:
        return any(start <= edit.start < end for start, end in _chosen(text))
    if CONFIGURATION.search(text.encode()[: edit.start].decode()) and NUMBER.match(edit.new):
        return True
    if NUMBER.match(edit.old) and NUMBER.match(edit.new) and _size(edit.old) >= HUGE > _size(edit.new):
        return True
    return any(start <= edit.start < end for start, end in _thresholds(text))


def makes_all_flags_alike(text: str, edit: Edit) -> bool:
    """Whether an edit gives every call of a function the same flag: of a loop in two parts, both are masked.

    Then the bound between the parts has no effect, whatever is wrong with it.
    """
    if edit.old not in FLAGS or edit.new != "True":
        return False
    source = SourceText(edit.applied(text))
    flags: dict[str, list[tuple[bool, ...]]] = {}
    changed = ""
    for call in ast.walk(source.tree):
        if isinstance(call, ast.Call) and not _of_library(call):
            given = (*call.args, *(k.value for k in call.keywords))
            name, (start, end) = ast.unparse(call.func), source.span(call)
            flags.setdefault(name, []).append(tuple(v.value for v in given if _is_flag(v)))
            changed = name if start <= edit.start < end else changed
    return len(flags.get(changed, ())) > 1 and len({*flags[changed]}) == 1


def stays_inside_alone(edit: Edit) -> bool:
    """Whether an edit may keep an access inside only because it goes elsewhere, or nowhere.

    Another tensor's pointer, an address without one of its terms, a mask that lets nothing through.
    """
    if edit.kind is OTHER_NAME:
        return bool(POINTER.search(edit.old) or POINTER.search(edit.new))
    if edit.kind is REDUNDANT_OPERAND:
        return edit.about in ADDRESS
    return edit.kind is COMPARISON and {"<", ">"} <= {*edit.old} ^ {*edit.new}


def chooses_a_tile(text: str, edit: Edit) -> bool:
    """Whether an edit changes only which size a tile has: `64 if N > 512 else 32`, `min(8, n)`."""
    return any(start <= edit.start and edit.end <= end for start, end in _tile_choices(text))


@functools.lru_cache(maxsize=16)
def _tile_choices(text: str) -> tuple[tuple[int, int], ...]:
    """Where a launcher decides between sizes that are written as numbers."""
    source = SourceText(text)
    return tuple(source.span(node) for node in _choices(source.tree))


def _choices(tree: ast.AST) -> Iterator[ast.expr]:
    keywords = [k.value for n in ast.walk(tree) if _is_launch(n) for k in n.keywords]
    handed: set[str] = set().union(*map(names_in, keywords))
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp) and _is_size(node.body) and _is_size(node.orelse):
            yield node.test
    for _, targets, value in assignments(tree):
        clamps = [n for n in ast.walk(value) if isinstance(n, ast.Call) and name_of(n) in ("min", "max")]
        limited = any(_is_size(limit) for clamp in clamps for limit in clamp.args)
        called = {name_of(n) for n in ast.walk(value) if isinstance(n, ast.Call)}
        if limited and targets and targets <= handed and not called & COVERING:
            yield value


def _is_launch(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)


def _is_size(value: ast.expr) -> bool:
    """True for a number of elements that is written out, a power of two above 1."""
    number = value.value if isinstance(value, ast.Constant) else None
    return type(number) is int and number > 1 and number & (number - 1) == 0


def _size(number: str) -> float:
    return abs(float(number.replace(" ", "")))


def _turns_a_shift_round(edit: Edit) -> bool:
    """`n + 1` for `n - 1`: two more, which only happens to be enough."""
    return {*edit.old} ^ {*edit.new} == {"+", "-"} and bool(re.search(r"[+-] ?\d+$", edit.old))


@functools.lru_cache(maxsize=16)
def _chosen(text: str) -> tuple[tuple[int, int], ...]:
    """Where flags are given to functions that are the learner's own."""
    source = SourceText(text)
    return tuple(source.span(value) for value in _flags(source.tree))


def _flags(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not _of_library(node):
            named = [k.value for k in node.keywords if "causal" not in (k.arg or "").lower()]
            values = [*node.args, *named]
            yield from filter(_is_flag, values)
        elif isinstance(node, ast.Assign) and _is_flag(node.value):
            yield node.value


def _is_flag(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, bool)


def _of_library(node: ast.Call) -> bool:
    owner = getattr(node.func, "value", None)
    method = isinstance(node.func, ast.Attribute) and not isinstance(owner, ast.Name)
    return method or getattr(owner, "id", "") in LIBRARIES or name_of(node) in ("range", "zip", "sum")


@functools.lru_cache(maxsize=16)
def _thresholds(text: str) -> tuple[tuple[int, int], ...]:
    """Where a number is a power that is written out, or the number of programs in a grid."""
    source = SourceText(text)
    return tuple(source.span(node) for node in _numbers_that_choose(source.tree))


def _numbers_that_choose(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift):
            yield node
        elif isinstance(node, ast.Call) and name_of(node) == "min" and "cdiv(" in ast.unparse(node):
            yield from (part for part in node.args if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            yield from (part for part in ast.walk(node.func.slice) if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            parts = getattr(node.value, "elts", ())
            if node.targets[0].id == "grid":
                yield from (part for part in parts if isinstance(part, ast.Constant))


@functools.lru_cache(maxsize=16)
def _lines_of_numbers(text: str) -> frozenset[int]:
    """The lines that give a name nothing but numbers, `cut = Shape(32, 32, 4)`: the sizes of tiles, say."""
    found = set()
    for statement, _, value in assignments(ast.parse(text)):
        numbers = isinstance(value, ast.Call) and not names_in(value) - names_in(value.func)
        if numbers and value.args and isinstance(statement, ast.Assign):
            found.add(statement.lineno)
    return frozenset(found)


@functools.lru_cache(maxsize=16)
def _counts_that_divide(text: str) -> tuple[int, ...]:
    """The lines of numbers of tiles by which a program's number is divided."""
    tree = ast.parse(text)
    divided = (n.right for n in ast.walk(tree) if isinstance(n, ast.BinOp) and isinstance(n.op, DIVISIONS))
    names: set[str] = set().union(*map(names_in, divided))
    known = list(assignments(tree))
    for _, targets, value in known:
        if targets & names and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            names |= names_in(value)
    return tuple(getattr(statement, "lineno", 0) for statement, targets, _ in known if targets & names)
