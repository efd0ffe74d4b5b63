"""Edits of the maximum that a loop carries along: taken of the new scores alone, or of the old ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, name_of
from flashlearn.explaining.edits.name_families import NameFamilies

MAXIMUM_NOT_UPDATED = edit_kind(
    "maximum not updated",
    question="Of which scores must this be the maximum, once the iteration is over?",
)
AXES = (1, 0)


def maximum_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """The larger of the maximum so far and of that of the new scores."""
    for loop in ast.walk(function):
        body = loop.body if isinstance(loop, ast.For | ast.While) else ()
        for at, statement in enumerate(body):
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                yield from _of_statement(text, statement, body[:at], body[at + 1 :], known)


def _of_statement(
    text: SourceText,
    statement: ast.Assign,
    before: list[ast.stmt],
    after: list[ast.stmt],
    known: NameFamilies,
) -> Iterator[Edit]:
    """`new = old`, or `new = tl.max(s, 1)`, where `old = new` comes later."""
    value = statement.value
    carried = {_target(one) for one in after if isinstance(one, ast.Assign) and _is(one.value, statement)}
    if before and _copies(before[-1], statement):
        carried = {value.id}  # `old = m` and then `m = old`: the second is to be the new maximum
    elif after and _copies(statement, after[0]):
        return
    if isinstance(value, ast.Call) and name_of(value) == "max":
        for old in sorted(carried - {""}):
            yield text.edit(MAXIMUM_NOT_UPDATED, value, f"tl.maximum({old}, {text.of(value)})")
    elif isinstance(value, ast.Name) and value.id in carried:
        tiles = [_target(one) for one in before if _target(one) in known.values]
        for variant, tile in enumerate(reversed(tiles)):
            for axis in AXES:
                new = f"tl.maximum({value.id}, tl.max({tile}, axis={axis}))"
                yield text.edit(MAXIMUM_NOT_UPDATED, value, new, variant)


def _copies(one: ast.stmt, other: ast.stmt) -> bool:
    """True for `old = m` followed by `m = old`."""
    both = [s for s in (one, other) if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name)]
    return len(both) == 2 and _is(other.value, one) and _is(one.value, other)


def _is(value: ast.expr, statement: ast.Assign) -> bool:
    return isinstance(value, ast.Name) and value.id == _target(statement)


def _target(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return getattr(target, "id", "")
