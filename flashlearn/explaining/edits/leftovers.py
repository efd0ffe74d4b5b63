"""Names that two loops assign: what one leaves in them, and what the other computes.

for k in range(0, N, B):
    at = k + lanes
    …
for k in range(0, N, B):
    at = k                  # wrong; without this line `at` stays where the first loop has ended
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, lines_of, names_in

OTHER_LOOPS_VALUE = edit_kind(
    "other loop's value",
    question="Another loop computes this name as well: do the two need the same value?",
    moves_access=True,
)


def other_loops_value_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """What another loop assigns to the same name, where this loop's value lacks a term of it.

    `at = first` in the second loop and `at = first + lanes` in the first.
    """
    loops = [n for n in function.body if isinstance(n, ast.For | ast.While)]
    for one, other in itertools.permutations(loops, 2):
        theirs = {_name(s): s.value for s in other.body if _name(s)}
        for statement in one.body:
            value = theirs.get(_name(statement))
            if value is not None and names_in(statement.value) < names_in(value):
                yield text.edit(OTHER_LOOPS_VALUE, statement.value, text.of(value))


def _name(statement: ast.stmt) -> str:
    """The name that a plain assignment gives a value to that does not depend on its own."""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    own = isinstance(target, ast.Name) and target.id not in names_in(statement.value)
    return target.id if own else ""


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
