"""Which lines decide where a kernel reads and writes: an access that went astray is mended in one of them.

From the addresses and masks of the accesses in question back through what they are computed from, and on into
the launcher by way of the parameters and the grid.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flashlearn.explaining.edits.calls import name_of
from flashlearn.explaining.edits.source_text import is_kernel
from flashlearn.running.answer_source import Section

READS = ("load", "atomic_add", "gather")
WRITES = ("store", "atomic_add", "atomic_xchg", "atomic_max", "atomic_cas")


def lines_concerned(found: Sequence[Section], accesses: Sequence[str], line: int | None) -> list[set[int]]:
    """For each section the lines, from 1, that bear on some accesses: those in a learner's line, or all."""
    trees = [ast.parse(section.text).body[0] for section in found]
    lines: list[set[int]] = [set() for _ in found]
    for i, (section, tree) in enumerate(zip(found, trees, strict=True)):
        if isinstance(tree, ast.FunctionDef) and is_kernel(tree):
            here = line - section.line + 1 if line is not None else None
            names = _accessing(tree, accesses, here, lines[i])
            back(tree, names, lines[i])
        elif isinstance(tree, ast.FunctionDef):
            names = set()
            for call in launches(tree):
                lines[i] |= text_lines(call)
                names |= names_in(call)
            back(tree, names, lines[i])
    return lines


def lines_feeding(found: Sequence[Section], line: int | None) -> list[set[int]]:
    """For each section the lines, from 1, that give values to the names which a learner's line reads."""
    lines: list[set[int]] = [set() for _ in found]
    for i, section in enumerate(found if line is not None else ()):
        tree, here = ast.parse(section.text).body[0], line - section.line + 1
        known = list(assignments(tree))
        reads = [value for statement, _, value in known if here in text_lines(statement)]
        names = set().union(*map(names_in, reads))
        for statement, targets, _ in known:
            lines[i] |= text_lines(statement) if targets & names else set()
    return lines


def _accessing(tree: ast.AST, accesses: Sequence[str], line: int | None, lines: set[int]) -> set[str]:
    """The names in addresses and masks of the accesses; of those in the line, if there are any."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and name_of(n) in accesses]
    there = [call for call in calls if line in text_lines(call)]
    names: set[str] = set()
    for call in there or calls:
        value = call.args[1:2] if name_of(call) in WRITES else []
        parts = [a for a in call.args if a not in value] + [
            k.value for k in call.keywords if k.arg != "other"
        ]
        for part in parts:
            lines |= text_lines(part)
            names |= names_in(part)
    return names


def back(tree: ast.AST, names: set[str], lines: set[int]) -> set[str]:
    """Add the lines that compute what these names hold, and give all names on the way."""
    known, new = set(names), set(names)
    loops = [(loop, _set_in(loop)) for loop in ast.walk(tree) if isinstance(loop, ast.For)]
    while new:
        more: set[str] = set()
        for statement, targets, value in assignments(tree):
            if targets & new:
                lines |= text_lines(statement)
                more |= names_in(value)
        for loop, targets in loops:  # how often it is gone through decides as well
            if targets & new:
                lines |= text_lines(loop.iter)
                more |= names_in(loop.iter)
        new = more - known
        known |= new
    return known


def _set_in(loop: ast.For) -> set[str]:
    """The names that a loop's body sets."""
    return set().union(*(targets for statement in loop.body for _, targets, _ in assignments(statement)))


def assignments(tree: ast.AST) -> Iterator[tuple[ast.AST, set[str], ast.AST]]:
    """Each statement that sets names, with these and what they are set to; of `a, b = c, d` each pair."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node.targets[0], node.value):
                yield node, names_in(target), value
        elif isinstance(node, ast.AugAssign):
            yield node, names_in(node.target), node.value
        elif isinstance(node, ast.For):
            yield node.iter, names_in(node.target), node.iter


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    pair = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    if pair and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def launches(tree: ast.AST) -> Iterator[ast.Call]:
    """The calls that launch a kernel."""
    return (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript))


def names_in(node: ast.AST) -> set[str]:
    """The names that occur."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def text_lines(node: ast.AST) -> set[int]:
    """The lines on which a node stands."""
    return set(range(node.lineno, node.end_lineno + 1))
