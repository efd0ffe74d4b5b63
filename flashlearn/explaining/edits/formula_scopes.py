"""Which names have a value at a place in a formula: also those of loops, comprehensions and lambdas."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import SourceText

COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
SHORT = 2
"""A name of at most so many letters may be a slip for any other, even if nothing binds it."""

Scopes = dict[ast.AST, tuple[str, ...]]


def local_names(function: ast.FunctionDef) -> Scopes:
    """For each expression the names that loops, unpacking, comprehensions and lambdas bind around it."""
    found: Scopes = {}
    _walk(function, (), found)
    return found


def short_names(function: ast.FunctionDef) -> set[str]:
    """Names of one or two letters that are neither called nor a module: where they are used, nothing need
    bind them.
    """
    used = {n.func for n in ast.walk(function) if isinstance(n, ast.Call)}
    used |= {n.value for n in ast.walk(function) if isinstance(n, ast.Attribute)}
    loaded = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and n not in used}
    return {name for name in loaded - {*dir(builtins)} if len(name) <= SHORT}


def index_names(function: ast.FunctionDef) -> set[str]:
    """The names that occur in subscripts."""
    slices = (n.slice for n in ast.walk(function) if isinstance(n, ast.Subscript))
    return {n.id for one in slices for n in ast.walk(one) if isinstance(n, ast.Name)}


def matrix_names(function: ast.FunctionDef) -> list[str]:
    """The names that are used with two subscripts, or whose rows or columns are counted, and with them the
    parameters.
    """
    found = {}
    for node in ast.walk(function):
        pair = (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Tuple)
            and len(node.slice.elts) == 2
        )
        counted = isinstance(node, ast.Attribute) and node.attr in ("rows", "cols")
        if (pair or counted) and isinstance(node.value, ast.Name):
            found[node.value.id] = True
    parameters = [a.arg for a in function.args.args] if found else []
    return list(dict.fromkeys([*found, *parameters]))


def matrices_in(function: ast.FunctionDef) -> set[str]:
    """The names that are seen to be matrices: something of theirs is asked for, or their entries unpacked."""
    owners = (n.value for n in ast.walk(function) if isinstance(n, ast.Attribute | ast.Starred))
    return {owner.id for owner in owners if isinstance(owner, ast.Name)}


def sizes_of(text: SourceText, function: ast.FunctionDef) -> list[str]:
    """The numbers of rows and columns that occur in a function, as written: `X.rows`."""
    counted = (n for n in ast.walk(function) if isinstance(n, ast.Attribute) and n.attr in ("rows", "cols"))
    return list(dict.fromkeys(map(text.of, counted)))


def _walk(node: ast.AST, names: tuple[str, ...], found: Scopes) -> None:
    found[node] = names
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        names += tuple(a.arg for a in node.args.args)
        own = node.body if isinstance(node, ast.FunctionDef) else []
        names += tuple(_unpacked(own))
    elif isinstance(node, COMPREHENSIONS):
        names += tuple(name for one in node.generators for name in _targets(one.target))
    for child in ast.iter_child_nodes(node):
        _walk(child, tuple(dict.fromkeys(names)), found)


def _unpacked(statements: list[ast.stmt]) -> Iterator[str]:
    """The names that tuples of targets, and loops, bind in some statements."""
    for statement in statements:
        if isinstance(statement, ast.FunctionDef):
            continue
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                yield from _targets(target) if isinstance(target, ast.Tuple) else ()
        elif isinstance(statement, ast.For):
            yield from _targets(statement.target)
        for part in ("body", "orelse"):
            yield from _unpacked(getattr(statement, part, []))


def _targets(target: ast.expr) -> Iterator[str]:
    return (n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
