"""Def-use chains of a function: which statements assign a name, and a backward slice from some names."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import lines_of, names_in

LOOPS = ast.For | ast.While


def backward_slice(tree: ast.AST, names: set[str], lines: set[int]) -> set[str]:
    """Add to `lines` those that compute the values of these names, and return all names on the way."""
    known, new = set(names), set(names)
    loops = [(_turns_of(loop), _assigned_in(loop)) for loop in ast.walk(tree) if isinstance(loop, LOOPS)]
    while new:
        more: set[str] = set()
        for statement, targets, value in assignments(tree):
            if targets & new:
                lines |= lines_of(statement)
                more |= names_in(value)
        for turns, targets in loops:  # the number of iterations matters as well
            if targets & new:
                lines |= lines_of(turns)
                more |= names_in(turns)
        new = more - known
        known |= new
    return known


def assignments(tree: ast.AST) -> Iterator[tuple[ast.AST, set[str], ast.AST]]:
    """Each statement that assigns names, with these and the value; of `a, b = c, d` each pair."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node.targets[0], node.value):
                yield node, names_in(target), value
        elif isinstance(node, ast.AugAssign):
            yield node, names_in(node.target), node.value
        elif isinstance(node, ast.For):
            yield node.iter, names_in(node.target), node.iter


@functools.lru_cache(maxsize=16)
def lines_that_read(text: str, line: int) -> frozenset[int]:
    """The lines of a section that read the names which one line assigns."""
    tree = ast.parse(text)
    targets = set().union(*(names for at, names, _ in assignments(tree) if line in lines_of(at)))
    loads = (n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return frozenset(n.lineno for n in loads if n.id in targets)


def launches(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls that launch a kernel."""
    return (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript))


def _turns_of(loop: ast.For | ast.While) -> ast.expr:
    """What decides how often a loop runs."""
    return loop.iter if isinstance(loop, ast.For) else loop.test


def _assigned_in(loop: ast.For | ast.While) -> set[str]:
    return set().union(*(targets for statement in loop.body for _, targets, _ in assignments(statement)))


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    pair = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    if pair and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]
