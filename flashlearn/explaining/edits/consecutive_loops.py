"""Edits of two loops that share a range: where the first one ends, the second begins."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, name_of

BEGINS = edit_kind(
    "begins elsewhere",
    sentence="Line {line} begins at `{old}`; with `{new}`, where the loop before it ends,",
    question="Between the end of the first loop and the beginning of the second, is a tile left out or "
    "visited twice?",
    quotes_alone=True,
    moves_access=True,
)
ENDS = edit_kind(
    "ends elsewhere",
    sentence="Line {line} ends at `{old}`; with `{new}`, where the next loop begins,",
    question="Between the end of the first loop and the beginning of the second, is a tile left out or "
    "visited twice?",
    quotes_alone=True,
    moves_access=True,
)


def consecutive_loop_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """The end of one loop as the beginning of the next, and the other way round.

    The loops are `for` loops over a range, or calls of one helper that is given a beginning and an end:

    >>> source = SourceText("def f(n, a, b):\\n for i in range(0, a): g(i)\\n for i in range(b, n): g(i)")
    >>> [(edit.old, edit.new) for edit in consecutive_loop_edits(source, source.tree.body[0])]
    [('b', 'a'), ('a', 'b')]
    """
    for first, second in _pairs(function):
        for (_, end), (begin, later) in _ranges(first, second):
            if text.of(end) not in (text.of(begin), text.of(later)):
                yield text.edit(BEGINS, begin, text.of(end))
                yield text.edit(ENDS, end, text.of(begin))


def _pairs(function: ast.FunctionDef) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The two calls of each function that is called by its name twice: `range`, or a helper with a loop."""
    calls: dict[str, list[ast.Call]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            calls.setdefault(node.func.id, []).append(node)
    for two in calls.values():
        if len(two) == 2:
            first, second = sorted(two, key=lambda call: call.lineno)
            yield first, second


def _ranges(first: ast.Call, second: ast.Call) -> Iterator[Sequence[tuple[ast.expr, ast.expr]]]:
    """The pairs of arguments of two like calls that may be a beginning and an end."""
    if len(first.args) != len(second.args) or len(first.args) < 2:
        return
    pairs = zip(itertools.pairwise(first.args), itertools.pairwise(second.args), strict=True)
    yield from itertools.islice(pairs, 1) if name_of(first) == "range" else filter(_may_be_bounds, pairs)


def _may_be_bounds(pairs: Sequence[tuple[ast.expr, ast.expr]]) -> bool:
    """True if both arguments differ between the calls, and all are names or numbers."""
    parts = [part for pair in pairs for part in pair]
    (a, b), (c, d) = pairs
    simple = all(isinstance(part, ast.Name) or _is_number(part) for part in parts)
    return simple and ast.dump(a) != ast.dump(c) and ast.dump(b) != ast.dump(d)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
