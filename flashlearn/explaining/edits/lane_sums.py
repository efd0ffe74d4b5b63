"""Edits of a sum that is kept for each lane: it is used where the sum over the lanes is meant.

acc = tl.zeros([BLOCK], tl.float32)
for start in range(0, n, BLOCK):
    acc += ...
y = a * (b - acc)                # tl.sum(acc, axis=0)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, name_of
from flashlearn.explaining.edits.reductions import REDUCTIONS

LANES_NOT_SUMMED = edit_kind(
    "lanes not summed",
    question="Does each lane need its own part of the sum here, or the sum of all lanes?",
)


def lane_sum_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """`tl.sum(acc, axis=0)` for a vector of sums, after the loop in which it is added to."""
    vectors = {name for node in ast.walk(function) if (name := _vector(node))}
    reduced = {
        one
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and name_of(call) in REDUCTIONS
        for one in ast.walk(call)
    }
    for loop in (node for node in ast.walk(function) if isinstance(node, ast.For | ast.While)):
        added = {
            n.target.id
            for n in ast.walk(loop)
            if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add) and isinstance(n.target, ast.Name)
        }
        for node in ast.walk(function):
            read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in reduced
            if read and node.id in added & vectors and node.lineno > (loop.end_lineno or 0):
                yield text.edit(LANES_NOT_SUMMED, node, f"tl.sum({node.id}, axis=0)")


def _vector(node: ast.AST) -> str:
    """The name of a vector that begins at 0."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or len(node.targets) != 1:
        return ""
    call, target = node.value, node.targets[0]
    shape = call.args[0] if call.args else None
    one = isinstance(shape, ast.List | ast.Tuple) and len(shape.elts) == 1
    return target.id if one and name_of(call) == "zeros" and isinstance(target, ast.Name) else ""
