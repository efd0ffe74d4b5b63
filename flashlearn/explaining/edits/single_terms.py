"""Values that are only a term of one sum: their sign is that of the term, in the line with the sum.

delta = (o * do).sum(dim=1)[:, None]
ds = p * (dp + delta)                   # wrong; `delta` itself is right
"""

from __future__ import annotations

import ast


def is_term_elsewhere(function: ast.FunctionDef, statement: ast.stmt) -> bool:
    """True if the name that is assigned here is read once, as a term that is added or subtracted."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return False
    named = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == target.id]
    if len(named) != 2 or sum(isinstance(n.ctx, ast.Load) for n in named) != 1:
        return False
    sums = [n for n in ast.walk(function) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add | ast.Sub)]
    return any(getattr(_bare(n.right), "id", "") == target.id for n in sums)


def _bare(node: ast.expr) -> ast.expr:
    """A value without its index: `delta` of `delta[:, None]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
