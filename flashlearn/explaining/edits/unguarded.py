"""Edits that guard a number: against −∞ − (−∞), where a row has seen nothing, and against a division by 0."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.call_edits import name_of
from flashlearn.explaining.edits.source_text import Edit, Text

EXPONENTIALS = ("exp", "exp2")


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
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        b = text.of(node.right)
        if isinstance(node.right, ast.Constant):
            return
        yield text.edit("guard", node.right, f"{library}.where({b} == 0.0, 1.0, {b})")
        if not kernel:
            yield text.edit("guard", node, f"torch.nan_to_num({text.of(node)}, nan=0.0)", 1)
