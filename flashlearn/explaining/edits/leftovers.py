"""Assignments without which a name would hold what an earlier loop has left in it.

for k in range(0, N, B):
    at = k + lanes
    …
for k in range(0, N, B):
    at = k                  # wrong; without this line `at` stays where the first loop has ended
"""

from __future__ import annotations

import ast

from flashlearn.explaining.edits.edit import lines_of, names_in


def else_left_over(function: ast.FunctionDef, statement: ast.stmt) -> bool:
    """True if without this line its name would hold what the last step of another loop has left in it."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return False
    others = [n for n in ast.walk(function) if n is not statement and target.id in _assigned(n)]
    loops = [lines_of(n) for n in ast.walk(function) if isinstance(n, ast.For | ast.While)]
    return bool(others) and all(
        isinstance(other, ast.Assign)
        and target.id not in names_in(other.value)
        and any(other.lineno in loop and statement.lineno not in loop for loop in loops)
        for other in others
    )


def _assigned(node: ast.AST) -> set[str]:
    """The names that a statement gives a value to."""
    if isinstance(node, ast.For | ast.AugAssign | ast.AnnAssign):
        return names_in(node.target)
    return set().union(*map(names_in, node.targets)) if isinstance(node, ast.Assign) else set()
