"""Which names of a function say which batch and head a program has: slips in them need several to show."""

from __future__ import annotations

import ast
import re

from flashlearn.explaining.edits.address_slice import assignments, names_in
from flashlearn.explaining.edits.calls import LIBRARIES, name_of
from flashlearn.explaining.edits.name_families import POINTER

NAME = re.compile(r"[A-Za-z_]\w*")
ROUND = 4
"""So many times names that are made of names are looked for."""


def head_names(function: ast.FunctionDef) -> frozenset[str]:
    """Names made of a program's number and of no lane, with the strides they are multiplied by.

    Of a launcher the two in front of the sequence and the components of a shape of four.
    """
    lanes = _of_lanes(function)
    found = _of_shapes(function)
    for _ in range(ROUND):
        for _, targets, value in assignments(function):
            made = "program_id" in ast.unparse(value) or names_in(value) & found
            if made and not names_in(value) & lanes and not targets & lanes and not _reads(value):
                found |= targets
    pairs = (n for n in ast.walk(function) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult))
    for pair in pairs:
        sides = [s.id for s in (pair.left, pair.right) if isinstance(s, ast.Name)]
        if len(sides) == 2 and found & {*sides}:
            found |= {*sides}
    return frozenset(name for name in found if name not in LIBRARIES and not POINTER.search(name))


def mentioned(text: str) -> set[str]:
    """The names in a piece of text."""
    return set(NAME.findall(text))


def _of_lanes(function: ast.FunctionDef) -> set[str]:
    """Names that meet an arange in one expression, what a loop counts, and the blocks' sizes."""
    arguments = [*function.args.args, *function.args.kwonlyargs]
    found = {a.arg for a in arguments if a.annotation and "constexpr" in ast.unparse(a.annotation)}
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            found |= names_in(node.target) | names_in(node.iter)
    for _, targets, value in assignments(function):
        if "arange" in ast.unparse(value):
            found |= targets | names_in(value)
    return found - {"tl"}


def _of_shapes(function: ast.FunctionDef) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(function):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Tuple) and len(target.elts) == 4 and "shape" in ast.unparse(node.value):
            found |= set().union(*map(names_in, target.elts[:2]))
    return found


def _reads(value: ast.AST) -> bool:
    """True for what is loaded, or made by the launcher."""
    return isinstance(value, ast.Call) and name_of(value) not in ("program_id", "cdiv", "to", "min", "max")
