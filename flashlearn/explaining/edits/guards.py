"""Edits that guard a number: against −∞ − (−∞), where a row has seen nothing, and against a division by 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.calls import name_of
from flashlearn.explaining.edits.source_text import Edit, Text

EXPONENTIALS = ("exp", "exp2")
LITTLE = 0.01
"""What is less than this is added to a divisor to keep it from 0, and changes it."""


def guarded(text: Text, node: ast.AST, kernel: bool) -> Iterator[Edit]:
    """What is subtracted in an exponential, or divided by, exchanged for a harmless number where it is none.

    In torch also the exponential, or the quotient, with 0 in place of NaN.
    """
    library = "tl" if kernel else "torch"
    if not kernel and "torch." not in text.raw.decode():
        return
    if isinstance(node, ast.Call) and name_of(node) in EXPONENTIALS and len(node.args) == 1:
        inner = node.args[0]
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub):
            b = text.of(inner.right)
            infinite = f'{b} == -float("inf")' if kernel else f"torch.isinf({b})"
            yield text.edit("guard", inner.right, f"{library}.where({infinite}, 0.0, {b})")
        if not kernel:
            yield text.edit("guard", node, f"torch.nan_to_num({text.of(node)}, nan=0.0)", 1)
    elif isinstance(node, ast.Call) and name_of(node) in ("log", "log2") and len(node.args) == 1:
        for sum_, _ in _with_a_little(node.args[0]):
            yield text.edit("a little added", node.args[0], text.of(sum_))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        b = text.of(node.right)
        if isinstance(node.right, ast.Constant):
            return
        for sum_, size in _with_a_little(node.right):
            put = f"{library}.where({text.of(sum_)} == 0.0, 1.0, {text.of(sum_)}){size}"
            yield text.edit("a little added", node.right, put)
        yield text.edit("guard", node.right, f"{library}.where({b} == 0.0, 1.0, {b})")
        if not kernel:
            yield text.edit("guard", node, f"torch.nan_to_num({text.of(node)}, nan=0.0)", 1)


def _with_a_little(divisor: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The sum that a small number is added to, so that nothing is divided by 0, and how it is laid out."""
    axes = ""
    if isinstance(divisor, ast.Subscript):
        whole, divisor = ast.unparse(divisor), divisor.value
        axes = whole[whole.rindex("[") :]
    if isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Add):
        small = divisor.right
        if isinstance(small, ast.Constant) and isinstance(small.value, float) and 0 < small.value < LITTLE:
            yield divisor.left, axes
