"""A value that is rounded where it is computed, as an operand of tl.dot, though other lines use it too.

p = tl.exp(s - m).to(v.dtype)     # the sum of p needs all its digits
acc += tl.dot(p, v)               # only here it must have v's dtype
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.dtypes import ROUNDING_QUESTION
from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, name_of, names_in

EARLY_ROUNDING = edit_kind(
    "early rounding",
    sentence="Line {line} has `{old}`; without the conversion there, and with `{new}` in tl.dot,",
    question=ROUNDING_QUESTION,
    quotes_both=False,
    changes_values=True,
    changes_dtype=True,
    in_gluon=False,
)


def early_rounding_edits(text: SourceText, function: ast.FunctionDef, line: int = 0) -> Iterator[Edit]:
    """A conversion, in one `line` if that is given, moved into the calls of tl.dot that have its result."""
    for node in ast.walk(function):
        named = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if named and line in (0, node.lineno):
            yield from _moved(text, function, node)


def _moved(text: SourceText, function: ast.FunctionDef, node: ast.Assign) -> Iterator[Edit]:
    name, value = node.targets[0].id, node.value
    converts = (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and name_of(value) == "to"
    )
    if not converts or len(value.args) != 1 or value.keywords:
        return
    operands = [
        operand
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and name_of(call) == "dot"
        for argument in call.args[:2]
        for operand in ast.walk(argument)
        if isinstance(operand, ast.Name) and operand.id == name and operand.lineno > node.lineno
    ]
    if not operands or name in names_in(value.args[0]):
        return
    new = f"{name}.to({text.of(value.args[0])})"
    changes = [(text.span(value), text.of(value.func.value)), *((text.span(o), new) for o in operands)]
    changes.sort()
    start, end = changes[0][0][0], changes[-1][0][1]
    put, at = b"", start
    for (first, last), written in changes:
        put += text.raw[at:first] + written.encode()
        at = last
    yield Edit(EARLY_ROUNDING, start, end, put.decode(), node.lineno, text.of(node), new)
