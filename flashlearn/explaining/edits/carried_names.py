"""Edits of names that carry what only one iteration of a loop needs into the next ones."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, names_in

CARRIED = edit_kind(
    "carried over",
    sentence="Line {line}, `{old}`, changes the value that the next iteration begins with; with a name of "
    "its own for this iteration's result,",
    question="What is in this name when the second iteration begins?",
    quotes_both=False,
    moves_access=True,
)
OWN = "_of_this_iteration"


def carried_name_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """A new name for what a loop multiplies or moves in place, and nothing else in it changes.

    >>> source = SourceText("def f(s, k):\\n for i in range(4):\\n  s *= k[i]\\n  g(s)")
    >>> [edit.put for edit in carried_name_edits(source, source.tree.body[0])]
    ['s_of_this_iteration = s * k[i]\\n  g(s_of_this_iteration)']
    """
    for loop in ast.walk(function):
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
            for number, statement in enumerate(loop.body[:-1]):
                if _carries(statement, loop):
                    yield _edit(text, statement, loop.body[number + 1 :])


def _carries(statement: ast.stmt, loop: ast.For) -> bool:
    """True if the statement changes a name in place by what differs between iterations, and it alone does.

    A sum of what the iterations compute is no such name: it is meant to grow. So of sums only those count
    to which the loop's own variable is added, as an address that moves with it.
    """
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
        return False
    changed = [
        node
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == statement.target.id
    ]
    varies = loop.target.id in names_in(statement.value)
    return len(changed) == 1 and varies and isinstance(statement.op, ast.Mult | ast.Add)


def _edit(text: SourceText, statement: ast.AugAssign, after: list[ast.stmt]) -> Edit:
    name = statement.target.id
    operator = "*" if isinstance(statement.op, ast.Mult) else "+"
    start, (first, _), (_, end) = text.span(statement)[0], text.span(after[0]), text.span(after[-1])
    put = f"{name}{OWN} = {name} {operator} {_bracketed(text, statement)}".encode()
    put += text.raw[text.span(statement)[1] : first]
    at = first
    for place, stop in sorted(
        text.span(node) for part in after for node in ast.walk(part) if _is(node, name)
    ):
        put += text.raw[at:place] + f"{name}{OWN}".encode()
        at = stop
    put += text.raw[at:end]
    return Edit(CARRIED, start, end, put.decode(), statement.lineno, text.of(statement), name + OWN)


def _bracketed(text: SourceText, statement: ast.AugAssign) -> str:
    value = statement.value
    plain = isinstance(statement.op, ast.Add) or not isinstance(value, ast.BinOp | ast.IfExp)
    return text.of(value) if plain else f"({text.of(value)})"


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
