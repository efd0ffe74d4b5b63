"""Which names an expression of a kernel reads, and which of them it reads entry by entry.

>>> Reads.of(ast.parse("p * (tl.dot(do, v.T) - delta[:, None]).to(q.dtype)", mode="eval").body).pointwise
('p', 'delta')
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

POINTWISE = frozenset(
    {
        *(
            "abs",
            "cast",
            "ceil",
            "clamp",
            "cos",
            "div_rn",
            "erf",
            "exp",
            "exp2",
            "fdiv",
            "floor",
            "fma",
            "log",
        ),
        *("log2", "maximum", "minimum", "rsqrt", "sigmoid", "sin", "sqrt", "sqrt_rn", "tanh", "to", "where"),
        "to_tensor",
    }
)
"""Functions and methods of tl that compute each entry from the entries at the same place."""

NO_SUMS = POINTWISE | {"arange", "cdiv", "dot", "full", "load", "permute", "program_id", "trans", "zeros"}
"""The same, and others that sum nothing along an axis of a result."""

ABOUT_TYPES = ("dtype", "type", "shape")
"""Attributes that say nothing about a tensor's numbers."""

NO_NAMES = ("tl", "interpreter_semantic")


@dataclass(frozen=True)
class Reads:
    """The names whose values an expression takes, in order; those in `pointwise` only entry by entry.

    It `sums` if numbers are summed inside it, other than by `tl.dot`, or may be in another function.
    """

    all: tuple[str, ...]
    pointwise: tuple[str, ...]
    sums: bool

    @classmethod
    def of(cls, node: ast.expr) -> Reads:
        """What an expression reads."""
        found: list[tuple[str, bool]] = []
        _collect(node, True, found)
        names = dict.fromkeys(name for name, _ in found)
        elsewhere = {name for name, alone in found if not alone}
        called = [_called(part) for part in ast.walk(node) if isinstance(part, ast.Call)]
        sums = any(name not in NO_SUMS for name in called)
        return cls(tuple(names), tuple(n for n in names if n not in elsewhere), sums)


def _collect(node: ast.AST, alone: bool, found: list[tuple[str, bool]]) -> None:
    """Add the names in a node, each with whether it is read entry by entry."""
    if isinstance(node, ast.Attribute) and node.attr in ABOUT_TYPES:
        return
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in NO_NAMES:
            found.append((node.id, alone))
        return
    alone = alone and _is_pointwise(node)
    for part in [node.value] if isinstance(node, ast.Subscript) else ast.iter_child_nodes(node):
        _collect(part, alone, found)


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _is_pointwise(node: ast.AST) -> bool:
    """Whether a node combines its parts entry by entry."""
    if isinstance(node, ast.Call):
        return _called(node) in POINTWISE
    if isinstance(node, ast.Attribute):
        return node.attr != "T"
    return not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult))
