"""What the names of a formula stand for: arrays, lists, and what is in the limits of a sum."""

from __future__ import annotations

import ast
import re

from flashlearn.explaining.edits.edit import SourceText, name_of
from flashlearn.explaining.edits.integer_formulas import SUMMATIONS

LIBRARY = re.compile(r"\b(sp|sympy|torch|np)\.")


def of_integers(text: SourceText) -> bool:
    """True if the text uses no library but for fractions, so that its numbers are integers."""
    return not LIBRARY.search(text.raw.decode().replace("sp.Rational", "").replace("sympy.Rational", ""))


def values(value: ast.expr) -> list[ast.expr]:
    """The elements of a tuple; else the value itself."""
    return list(value.elts) if isinstance(value, ast.Tuple) else [value]


def arrays(function: ast.FunctionDef) -> set[str]:
    """The names that are never used but with an index, or for an attribute: a slice is no index."""
    inside = {n.value for n in ast.walk(function) if isinstance(n, ast.Subscript | ast.Attribute)}
    subscripts = [n for n in ast.walk(function) if isinstance(n, ast.Subscript) and _named(n.value)]
    sliced = {n.value.id for n in subscripts if any(isinstance(i, ast.Slice) for i in ast.walk(n.slice))}
    indexed = {n.value.id for n in subscripts} - sliced
    loads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    return indexed - {n.id for n in loads if n not in inside}


def _named(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def lists(function: ast.FunctionDef) -> set[str]:
    """The names of lists and dictionaries, which are no factors."""
    assigned = (n for n in ast.walk(function) if isinstance(n, ast.Assign))
    several = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)
    return {t.id for n in assigned if isinstance(n.value, several) for t in n.targets if _named(t)}


def limits(function: ast.FunctionDef) -> set[ast.AST]:
    """The expressions within the limits of sums: `(j, 0, n - 1)`."""
    calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and name_of(n) in SUMMATIONS]
    return {node for call in calls for limit in call.args[1:] for node in ast.walk(limit)}


def alike(node: ast.AST, names: list[str], arrays: set[str], written: set[str]) -> list[str]:
    """The names that may be meant in place of a name: arrays for an array; unused ones for either."""
    if not _named(node):
        return names
    return [n for n in names if n == node.id or (n in arrays) == (node.id in arrays) or n not in written]
