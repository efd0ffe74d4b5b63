"""Edits that guard a number: against −∞ − (−∞) in a fully masked row, and against a division by 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, name_of

EXPONENTIALS = ("exp", "exp2")
LARGEST_EPSILON = 0.01
"""A smaller number in a sum is there to keep a divisor from 0, and changes the result."""

MISSING_GUARD = edit_kind(
    "missing guard",
    question="Which rows, or which elements, need the guard, and does each of them get it?",
    fills_absence=True,
    requires="nan",
)
ADDED_EPSILON = edit_kind(
    "added epsilon",
    sentence="Line {line} adds a small number: `{old}`; with `{new}`",
    question="Which rows need the small number, and what does it change in the others?",
)


def guard_edits(text: SourceText, node: ast.AST, kernel: bool) -> Iterator[Edit]:
    """A neutral number for an infinite subtrahend in an exponential, or for a divisor of 0.

    In torch also 0 in place of an exponential or quotient that is NaN.
    """
    library = "tl" if kernel else "torch"
    if not kernel and "torch." not in text.raw.decode():
        return
    if isinstance(node, ast.Call) and name_of(node) in EXPONENTIALS and len(node.args) == 1:
        inner = node.args[0]
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
            b = text.of(inner.right)
            infinite = f'{b} == -float("inf")' if kernel else f"torch.isinf({b})"
            yield text.edit(MISSING_GUARD, inner.right, f"{library}.where({infinite}, 0.0, {b})")
        if not kernel:
            yield text.edit(MISSING_GUARD, node, f"torch.nan_to_num({text.of(node)}, nan=0.0)", 1)
    elif isinstance(node, ast.Call) and name_of(node) in ("log", "log2") and len(node.args) == 1:
        for exact, _ in _without_epsilon(node.args[0]):
            yield text.edit(ADDED_EPSILON, node.args[0], text.of(exact))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        b = text.of(node.right)
        if isinstance(node.right, ast.Constant):
            return
        for exact, axes in _without_epsilon(node.right):
            put = f"{library}.where({text.of(exact)} == 0.0, 1.0, {text.of(exact)}){axes}"
            yield text.edit(ADDED_EPSILON, node.right, put)
        yield text.edit(MISSING_GUARD, node.right, f"{library}.where({b} == 0.0, 1.0, {b})")
        if not kernel:
            yield text.edit(MISSING_GUARD, node, f"torch.nan_to_num({text.of(node)}, nan=0.0)", 1)


def _without_epsilon(divisor: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The sum without the small number that keeps it from 0, and the subscript that broadcasts it."""
    axes = ""
    if isinstance(divisor, ast.Subscript):
        whole, divisor = ast.unparse(divisor), divisor.value
        axes = whole[whole.rindex("[") :]
    if isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Add):
        small = divisor.right
        is_number = isinstance(small, ast.Constant) and isinstance(small.value, float)
        if is_number and 0 < small.value < LARGEST_EPSILON:
            yield divisor.left, axes
