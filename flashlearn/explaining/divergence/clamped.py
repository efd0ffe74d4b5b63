"""Comparisons that are true whatever the lane: the index was limited to the bound before.

safe = tl.minimum(rows, S_q - 1)
p = tl.where((safe < S_q)[:, None], …)           # hides nothing
"""

from __future__ import annotations

import ast
import linecache
from collections import Counter

from flashlearn.interpreter.observers.assigned_values import Event

MINIMUM = ("minimum", "min")


def always_true(event: Event) -> tuple[str, str, int] | None:
    """A comparison of a statement that is always true, the name that was limited, and in which line."""
    return comparison_without_effect(
        "".join(linecache.getlines(event.file)), event.site.function, event.site.line
    )


def comparison_without_effect(source: str, function: str, line: int) -> tuple[str, str, int] | None:
    """The same of the statement in a line of a function; None where the source cannot be read.

    >>> comparison_without_effect("def f(i, n):\\n    j = min(i, n - 1)\\n    seen = j < n\\n", "f", 3)
    ('j < n', 'j', 2)
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a notebook's cell may hold magics
        return None
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    own = next((f for f in functions if f.name == function and f.lineno <= line <= _end(f)), None)
    if own is None:
        return None
    stored = Counter(n.id for n in ast.walk(own) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    assigned = [node for node in ast.walk(own) if isinstance(node, ast.Assign)]
    once = {
        node.targets[0].id: node.value
        for node in assigned
        if isinstance(node.targets[0], ast.Name) and stored[node.targets[0].id] == 1
    }
    here = [
        node
        for statement in assigned
        if statement.lineno <= line <= _end(statement)
        for node in ast.walk(statement)
    ]
    for node in here:
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and _holds(node, once, stored):
            return ast.unparse(node), node.left.id, once[node.left.id].lineno
    return None


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _holds(comparison: ast.Compare, once: dict[str, ast.expr], stored: Counter[str]) -> bool:
    """Whether the name compared is a minimum with a number that fits, made of what is never changed."""
    (bound, *more), (operator, *_) = comparison.comparators, comparison.ops
    limit = once.get(comparison.left.id)  # type: ignore[attr-defined]
    changes = any(isinstance(node, ast.Name) and stored[node.id] for node in ast.walk(bound))
    if more or changes or not isinstance(limit, ast.Call) or not isinstance(operator, ast.Lt | ast.LtE):
        return False
    if getattr(limit.func, "attr", getattr(limit.func, "id", "")) not in MINIMUM:
        return False
    written = ast.unparse(bound)
    most = {f"{written} - 1", *([written] if isinstance(operator, ast.LtE) else [])}
    return bool(most & {ast.unparse(argument) for argument in limit.args})
