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
MAXIMUM_NOT_KEPT = edit_kind(
    "maximum not kept",
    sentence="Line {line} makes `{old}`, and the next iteration finds the old maximum; with `{new}` as the "
    "last line of the loop",
    question="What must the next iteration find in each of the names that it reads?",
    quotes_both=False,
    inserts_statement=True,
)
AXES = (1, 0)


def maximum_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """The larger of the maximum so far and of that of the new scores."""
    for loop in ast.walk(function):
        body = loop.body if isinstance(loop, ast.For | ast.While) else ()
        for at, statement in enumerate(body):
            yield from _not_kept(text, statement, body)
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


def _not_kept(text: SourceText, statement: ast.stmt, body: list[ast.stmt]) -> Iterator[Edit]:
    """`old = new` at the end of a loop that has `new = tl.maximum(old, …)` and gives `old` no value."""
    call = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(call, ast.Call) or name_of(call) not in ("maximum", "max") or len(call.args) != 2:
        return
    stored = {
        n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    olds = [a.id for a in call.args if isinstance(a, ast.Name) and a.id not in stored]
    if len(olds) == 1 and (new := _target(statement)):
        end, put = text.span(body[-1])[1], f"{olds[0]} = {new}"
        indent = " " * statement.col_offset
        yield Edit(MAXIMUM_NOT_KEPT, end, end, f"\n{indent}{put}", statement.lineno, text.of(statement), put)


def _copies(one: ast.stmt, other: ast.stmt) -> bool:
    """True for `old = m` followed by `m = old`."""
    both = [s for s in (one, other) if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name)]
    return len(both) == 2 and _is(other.value, one) and _is(one.value, other)


def _is(value: ast.expr, statement: ast.Assign) -> bool:
    return isinstance(value, ast.Name) and value.id == _target(statement)


def _target(statement: ast.stmt) -> str:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    return getattr(target, "id", "")
