"""Edits of how programs share the work: where one begins and ends, the last group, an index of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of, names_in
from flashlearn.explaining.edits.name_families import NameFamilies
from flashlearn.explaining.edits.reductions import GRID

SHARED_START = edit_kind(
    "shared start",
    question="Where does each program begin, so that no two of them take the same block?",
    moves_access=True,
)
SHARE_END = edit_kind(
    "share end",
    question="Where does the share of the next program begin?",
    moves_access=True,
)
LAST_GROUP = edit_kind(
    "last group",
    sentence="Line {line} has no bound for `{old}`; with `{new}`",
    question="How many are there in a full group, and how many in the last one?",
    moves_access=True,
)
MISSING_INDEX = edit_kind(
    "missing index",
    sentence="Line {line} adds `{old}` in every program; with `{new}`",
    question="Which batch, head or block is this for, and how far is it from the first one?",
    moves_access=True,
)


def share_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """Every such edit of a kernel."""
    values = {
        node.targets[0].id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and name_of(node.iter) == "range":
            yield from _starts(text, node.iter, values)
            yield from _ends(text, node.iter, values)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            yield from _last_group(text, function, node.value, known)
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            yield from _indices(text, node, known)


def _starts(text: SourceText, call: ast.Call, values: dict[str, ast.expr]) -> Iterator[Edit]:
    """The program's own start, where the step is that of all programs together."""
    if len(call.args) != 3 or not isinstance(call.args[0], ast.Constant):
        return
    step = values.get(text.of(call.args[2]), call.args[2])
    counts = [n for n in ast.walk(step) if isinstance(n, ast.Call) and name_of(n) == GRID[1]]
    if len(counts) == 1:
        (start, end), (first, last) = text.span(step), text.span(counts[0])
        own = text.of(counts[0]).replace(GRID[1], GRID[0])
        put = text.raw[start:first].decode() + own + text.raw[last:end].decode()
        yield text.edit(SHARED_START, call.args[0], put)


def _ends(text: SourceText, call: ast.Call, values: dict[str, ast.expr]) -> Iterator[Edit]:
    """The start of the next share as the end of this one."""
    if len(call.args) < 2:
        return
    start, end = call.args[:2]
    product = values.get(start.id, start) if isinstance(start, ast.Name) else start
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return
    for number, width in ((product.left, product.right), (product.right, product.left)):
        if isinstance(number, ast.Name) and not names_in(end) & (names_in(product)):
            bound = f"({number.id} + 1) * {bracketed(width, text.of(width))}"
            yield text.edit(SHARE_END, end, f"tl.minimum({text.of(end)}, {bound})")


def _last_group(
    text: SourceText, function: ast.FunctionDef, value: ast.BinOp, known: NameFamilies
) -> Iterator[Edit]:
    """What is left of the tiles, at most a full group of them."""
    if not isinstance(value.op, ast.Sub) or not all(
        isinstance(s, ast.Name) for s in (value.left, value.right)
    ):
        return
    lanes = (n for n in ast.walk(function) if isinstance(n, ast.Call) and name_of(n) in ("arange", "zeros"))
    shapes: set[str] = set().union(*map(names_in, lanes))
    for group in known.blocks:
        if group not in shapes:
            yield text.edit(LAST_GROUP, value, f"min({text.of(value)}, {group})")


def _indices(text: SourceText, statement: ast.stmt, known: NameFamilies) -> Iterator[Edit]:
    """A stride or a size that is added to an address once, times the program's own index."""
    used = names_in(statement)
    indices = dict.fromkeys([*known.programs, *(n for n in known.scalars if n not in known.parameters)])
    missing = [name for name in indices if name not in used and name not in known.counted]
    for node in ast.walk(statement) if used & {*known.pointers} else ():
        sides = (
            (node.left, node.right) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) else ()
        )
        for side in sides:
            if isinstance(side, ast.Name) and side.id in (*known.strides, *known.size_parameters()):
                for own in missing:
                    put = f"{own} * {side.id}"
                    yield text.edit(MISSING_INDEX, side, put, int(own not in known.programs))
