"""Which names of a function select a program's batch and head: mistakes in them show only with several."""

from __future__ import annotations

import ast
import re

from flashlearn.explaining.edits.calls import LIBRARIES
from flashlearn.explaining.edits.edit import name_of, names_in
from flashlearn.explaining.edits.name_families import POINTER
from flashlearn.explaining.edits.slicing import assignments

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
DEPTH = 4
"""How many assignments are followed from the program's number."""


def head_names(function: ast.FunctionDef) -> frozenset[str]:
    """Names computed from a program's number and from no lane, with the strides they are multiplied by.

    In a launcher these are the first two components of a shape of four, and what is computed from them.
    """
    lanes = _lane_names(function)
    found = _shape_names(function)
    for _ in range(DEPTH):
        for _, targets, value in assignments(function):
            derived = "program_id" in ast.unparse(value) or names_in(value) & found
            if derived and not names_in(value) & lanes and not targets & lanes and not _reads(value):
                found |= targets
    pairs = (n for n in ast.walk(function) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult))
    for pair in pairs:
        sides = [s.id for s in (pair.left, pair.right) if isinstance(s, ast.Name)]
        if len(sides) == 2 and found & {*sides}:
            found |= {*sides}
    return frozenset(name for name in found if name not in LIBRARIES and not POINTER.search(name))


def identifiers(text: str) -> set[str]:
    """The names in a piece of text."""
    return set(IDENTIFIER.findall(text))


def _lane_names(function: ast.FunctionDef) -> set[str]:
    """Names in an expression with an arange, names of loops, and the blocks' sizes."""
    arguments = [*function.args.args, *function.args.kwonlyargs]
    found = {a.arg for a in arguments if a.annotation and "constexpr" in ast.unparse(a.annotation)}
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            found |= names_in(node.target) | names_in(node.iter)
    for _, targets, value in assignments(function):
        if "arange" in ast.unparse(value):
            found |= targets | names_in(value)
    return found - {"tl"}


def _shape_names(function: ast.FunctionDef) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Tuple) and len(target.elts) == 4 and "shape" in ast.unparse(node.value):
            found |= set().union(*map(names_in, target.elts[:2]))
    return found


def _reads(value: ast.AST) -> bool:
    """True for what is loaded, or allocated by the launcher."""
    return isinstance(value, ast.Call) and name_of(value) not in ("program_id", "cdiv", "to", "min", "max")
