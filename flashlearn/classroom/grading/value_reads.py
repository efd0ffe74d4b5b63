"""Whether a launcher reads values out of its tensors, to compute with them unobserved.

    >>> value_reads("def row_sum(x):\\n    return stored(x.tolist())").certain
    (SuspiciousUse(line=2, what='`.tolist`'),)

A kernel's launcher does not need the values of its inputs: it also runs on tensors without data. One that
turns values into Python numbers could compute the result before any kernel runs.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

import torch

from flashlearn.classroom.grading.suspicious_code import SuspiciousUse
from flashlearn.exercise import Exercise, Inputs
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Int32OverflowProbe

CERTAIN = frozenset({"apply_", "is_meta", "item", "map_", "numpy", "tolist"})
POSSIBLE = frozenset({
    "float", "format", "fsum", "int", "iter", "list", "map", "next", "repr", "sorted", "str", "sum", "tuple",
})  # fmt: skip


@dataclass(frozen=True)
class ValueReads:
    """Uses that certainly read values, uses that may, and whether a failure could be caught unseen."""

    certain: tuple[SuspiciousUse, ...]
    possible: tuple[SuspiciousUse, ...]
    hidden: bool


def value_reads(text: str) -> ValueReads:
    """The value reads in a text, outside of its kernels."""
    certain, possible, hidden = [], [], False
    todo = [ast.parse(text)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef) and any(
            "jit" in ast.unparse(one) for one in node.decorator_list
        ):
            continue
        todo += ast.iter_child_nodes(node)
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Attribute) and node.attr in CERTAIN:
            certain.append(SuspiciousUse(line, f"`.{node.attr}`"))
        elif isinstance(node, ast.Call) and _may_read(node):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            possible += [SuspiciousUse(line, f"`{name}(…)`")] if name in POSSIBLE else []
        elif isinstance(node, ast.For | ast.comprehension) and not _counts(node.iter):
            possible.append(SuspiciousUse(node.iter.lineno, f"a loop over `{ast.unparse(node.iter):.40}`"))
        elif isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Starred) and not _counts(node.value)):
            possible.append(SuspiciousUse(line, f"`{ast.unparse(node):.40}`"))
        hidden = hidden or isinstance(node, ast.Try)
    return ValueReads(tuple(certain), tuple(possible), hidden)


def _may_read(call: ast.Call) -> bool:
    return bool(call.args) and not isinstance(call.args[0], ast.Constant) and not _counts(call.args[0])


def _counts(node: ast.AST) -> bool:
    """A range, a shape or strides: numbers that do not depend on a tensor's values."""
    if isinstance(node, ast.Tuple | ast.List):  # a few tensors by name
        return True
    if isinstance(node, ast.Subscript):
        return _counts(node.value)
    called = node.func if isinstance(node, ast.Call) else node
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("range", "shape", "size", "stride")


def needs_values(exercise: Exercise, answer: Answer) -> bool:
    """Whether an answer fails on tensors without data."""
    case = exercise.cases[0]
    inputs = without_values(exercise.inputs(case, case.generator()))
    return answer.run(inputs, Int32OverflowProbe()).raised is not None


def without_values(inputs: Inputs) -> Inputs:
    """The same inputs, with meta tensors of the same shapes, strides and dtypes."""
    return {
        name: torch.empty_strided(one.shape, one.stride(), dtype=one.dtype, device="meta")
        if isinstance(one, torch.Tensor)
        else one
        for name, one in inputs.items()
    }
