"""Edits of strides that a launch gives twice, and of a tile that is masked along one of its axes alone.

kernel[grid](dk, dv, *dk.stride(), *dk.stride())    # dv has strides of its own
s = tl.where((rows < S_q)[:, None], s, -inf)        # the padding is among the columns
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of

STRIDES_TWICE = edit_kind(
    "strides given twice",
    question="To which tensor does the kernel apply each group of strides, in their order?",
    moves_access=True,
)
PARTIAL_CONDITION = edit_kind(
    "partial condition",
    sentence="Line {line} has the condition `{old}`; with `{new}`",
    question="Along which of its two axes does this tile go beyond the matrix, and which one is tested here?",
    changes_values=True,
    in_gluon=False,
)
OTHER_AXIS = {":, None": "None, :", "None, :": ":, None"}


def doubled_stride_edits(text: SourceText, node: ast.Call) -> Iterator[Edit]:
    """The strides of a tensor that has no group of its own, in place of those that a launch gives twice."""
    if not isinstance(node.func, ast.Subscript):
        return
    groups = [a for a in node.args if isinstance(a, ast.Starred) and _is_stride(a.value)]
    owners = [text.of(one.value.func.value) for one in groups]
    given = [a.id for a in node.args if isinstance(a, ast.Name)]
    without = [name for name in given if name not in owners]
    for one, other in itertools.pairwise(groups):
        owner = text.of(one.value.func.value)
        if text.of(one) != text.of(other) or owner not in given:
            continue
        start, middle, after, end = *text.span(one), *text.span(other)
        old, between = text.raw[start:end].decode(), text.raw[middle:after].decode()
        near = sorted(without, key=lambda name: abs(given.index(name) - given.index(owner)))
        for name in near[:2]:
            for put in (
                f"{text.of(one)}{between}*{name}.stride()",
                f"*{name}.stride(){between}{text.of(one)}",
            ):
                yield Edit(STRIDES_TWICE, start, end, put, one.lineno, old, put)


def _is_stride(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and name_of(node) == "stride"


def partial_condition_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """A tile that is masked along one axis, masked along the other one too."""
    tested = {
        (node.left.id, text.of(node.comparators[0]))
        for node in ast.walk(function)
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Name)
        and isinstance(node.ops[0], ast.Lt)
        and isinstance(node.comparators[0], ast.Name)
    }
    for node in ast.walk(function):
        condition = (
            node.args[0] if isinstance(node, ast.Call) and name_of(node) == "where" and node.args else None
        )
        if not isinstance(condition, ast.Subscript) or text.of(condition.slice) not in OTHER_AXIS:
            continue
        own = text.of(condition)
        for index, size in sorted(tested):
            if index not in own and size not in own and size != "D":
                other = f"({index} < {size})[{OTHER_AXIS[text.of(condition.slice)]}]"
                yield text.edit(PARTIAL_CONDITION, condition, f"{bracketed(condition, own)} & {other}")
