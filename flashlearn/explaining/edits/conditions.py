"""Edits of conditions: one without its `not`, two branches, axes or indices in each other's place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind
from flashlearn.explaining.edits.name_families import SCALE
from flashlearn.explaining.edits.names import OTHER_AXIS
from flashlearn.explaining.edits.strides import renamed

NEGATED = edit_kind("negated condition", question="In which of the two situations must this happen?")
EXCHANGED_BRANCHES = edit_kind(
    "exchanged branches", question="Which of the two is meant where the condition is true?"
)
EXCHANGED_AXES = edit_kind(
    "exchanged axes",
    question="What do the rows of this tile count, and what do its columns?",
    moves_access=True,
)
EXCHANGED_INDICES = edit_kind(
    "exchanged indices",
    question="Which of the two must not be larger than the other, and along which axis does each run?",
    moves_access=True,
    mixes_names=True,
)


def negation_edits(text: SourceText, test: ast.expr) -> Iterator[Edit]:
    """A test without its `not`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield text.edit(NEGATED, test, text.of(test.operand))


def exchanged_branches(text: SourceText, node: ast.IfExp) -> Iterator[Edit]:
    """Each value of a conditional expression where the other one is, unless both are numbers.

    These are sizes of blocks: another one may hide a mistake, where a tile then holds everything.
    """
    yield from negation_edits(text, node.test)
    a, test, b = (text.of(part) for part in (node.body, node.test, node.orelse))
    values = (node.body, node.orelse)
    nested = any(isinstance(value, ast.IfExp) for value in values)
    numbers = all(isinstance(value, ast.Constant) for value in values)
    if a != b and not nested and not numbers:
        yield text.edit(EXCHANGED_BRANCHES, node, f"{b} if {test} else {a}")


def exchanged_index_edits(text: SourceText, node: ast.Compare) -> Iterator[Edit]:
    """A comparison of two indices whose axes, or whose names, are in each other's place.

    >>> text = SourceText("i[None, :] <= j[:, None] + n")
    >>> [edit.new for edit in exchanged_index_edits(text, text.tree.body[0].value)]
    ['i[:, None] <= j[None, :] + n', 'j[None, :] <= i[:, None] + n']
    """
    vectors = [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and text.of(n.slice) in OTHER_AXIS]
    named = [n for n in vectors if isinstance(n.value, ast.Name)]
    names, axes = {n.value.id for n in named}, {text.of(n.slice) for n in vectors}
    if len(node.ops) != 1 or len(vectors) != 2 or len(named) != 2 or len(names) != 2 or len(axes) != 2:
        return
    turned = [(*text.span(n.slice), OTHER_AXIS[text.of(n.slice)]) for n in vectors]
    yield text.edit(EXCHANGED_AXES, node, _with(text, node, turned))
    one, other = sorted(names)
    new = renamed(text, node, [n.value for n in named], {one: other, other: one})
    yield text.edit(EXCHANGED_INDICES, node, new)


def _with(text: SourceText, node: ast.AST, changes: list[tuple[int, int, str]]) -> str:
    """The text of a node with some spans of bytes replaced."""
    at, end = text.span(node)
    parts = []
    for start, stop, new in sorted(changes):
        parts += [text.raw[at:start].decode(), new]
        at = stop
    return "".join((*parts, text.raw[at:end].decode()))


ROOT = edit_kind(
    "root",
    question="Which power of this length does the formula have, and is it a factor or a divisor?",
)
HALVES = (0.5, -0.5)


def root_edits(text: SourceText, node: ast.AST) -> Iterator[Edit]:
    """A length to the power −1/2 for 1/2, and the other way; a root for a divisor or a scale."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        exponent = _number(node.right)
        if exponent in HALVES:
            base = text.of(node.left)
            yield text.edit(ROOT, node, f"{bracketed(node.left, base)} ** {-exponent}")
    elif _is_root(node):
        yield text.edit(ROOT, node, f"(1 / {text.of(node)})")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and _number(node.left) == 1:
        below = text.of(node.right)
        if _is_root(node.right):
            yield text.edit(ROOT, node, below)
        else:
            yield text.edit(ROOT, node, f"{text.of(node.left)} / ({below}) ** 0.5")
    if isinstance(node, ast.Assign) and any(map(SCALE.search, map(ast.unparse, node.targets))):
        values = (node.value.body, node.value.orelse) if isinstance(node.value, ast.IfExp) else (node.value,)
        for value in values:
            if isinstance(value, ast.Subscript) and "shape" in text.of(value.value):
                yield text.edit(ROOT, value, f"{text.of(value)} ** -0.5")


def _is_root(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and ast.unparse(node.func) in ("math.sqrt", "sqrt") and len(node.args) == 1
    )


def _number(node: ast.expr) -> float | None:
    minus = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if minus else node
    if not isinstance(inner, ast.Constant) or not isinstance(inner.value, int | float):
        return None
    return -inner.value if minus else inner.value
