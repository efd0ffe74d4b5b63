"""Whether a launcher takes numbers out of its tensors, to compute with them where no observer looks.

    >>> taken("def row_sum(x):\\n    return stored(x.tolist())").plainly
    (SuspiciousUse(line=2, what='`.tolist`'),)

A kernel's launcher has no use for what its inputs hold: it runs as well on tensors that hold nothing. One
that does not, and turns values into Python's numbers, could have the sum worked out before any kernel runs.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

import torch

from flashlearn.classroom.grading.suspicious_code import SuspiciousUse
from flashlearn.exercise import Exercise, Inputs
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Int32OverflowProbe

PLAINLY = frozenset({"apply_", "is_meta", "item", "map_", "numpy", "tolist"})
PERHAPS = frozenset({
    "float", "format", "fsum", "int", "iter", "list", "map", "next", "repr", "sorted", "str", "sum", "tuple",
})  # fmt: skip


@dataclass(frozen=True)
class ValueReads:
    """What plainly takes numbers out, what may do so, and whether failing at it would not show."""

    plainly: tuple[SuspiciousUse, ...]
    perhaps: tuple[SuspiciousUse, ...]
    hidden: bool


def taken(text: str) -> ValueReads:
    """Of a text's launchers: what stands in kernels is the kernels' own."""
    plainly, perhaps, hidden = [], [], False
    todo = [ast.parse(text)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef) and any(
            "jit" in ast.unparse(one) for one in node.decorator_list
        ):
            continue
        todo += ast.iter_child_nodes(node)
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Attribute) and node.attr in PLAINLY:
            plainly.append(SuspiciousUse(line, f"`.{node.attr}`"))
        elif isinstance(node, ast.Call) and _is_open(node):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            perhaps += [SuspiciousUse(line, f"`{name}(…)`")] if name in PERHAPS else []
        elif isinstance(node, ast.For | ast.comprehension) and not _counts(node.iter):
            perhaps.append(SuspiciousUse(node.iter.lineno, f"a loop over `{ast.unparse(node.iter):.40}`"))
        elif isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Starred) and not _counts(node.value)):
            perhaps.append(SuspiciousUse(line, f"`{ast.unparse(node):.40}`"))
        hidden = hidden or isinstance(node, ast.Try)
    return ValueReads(tuple(plainly), tuple(perhaps), hidden)


def _is_open(call: ast.Call) -> bool:
    return bool(call.args) and not isinstance(call.args[0], ast.Constant) and not _counts(call.args[0])


def _counts(node: ast.AST) -> bool:
    """A range, a shape or strides: numbers that a tensor has whatever it holds."""
    if isinstance(node, ast.Tuple | ast.List):  # a few tensors by name
        return True
    if isinstance(node, ast.Subscript):
        return _counts(node.value)
    called = node.func if isinstance(node, ast.Call) else node
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("range", "shape", "size", "stride")


def needs_values(exercise: Exercise, answer: Answer) -> bool:
    """Whether an answer fails where its tensors hold nothing."""
    case = exercise.cases[0]
    inputs = without_values(exercise.inputs(case, case.generator()))
    return answer.run(inputs, Int32OverflowProbe()).raised is not None


def without_values(inputs: Inputs) -> Inputs:
    """The same inputs with tensors of the same form that have no memory."""
    return {
        name: torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device="meta")
        if isinstance(one, torch.Tensor)
        else one
        for name, one in inputs.items()
    }
