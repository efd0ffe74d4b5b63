"""A loop that cannot end: nothing in it changes what its condition tests."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from dataclasses import replace

from flashlearn.interpreter.errors import TimeLimit
from flashlearn.interpreter.learner_code import place_of_error
from flashlearn.observation import Place


def stopped_at(error: BaseException) -> Place | None:
    """The line of a kernel in which a time limit met it first; a limit may strike again on the way out."""
    met, place = error, None
    while isinstance(met, TimeLimit):
        place = place_of_error(met) or place
        met = met.__context__
    return place


def endless_loop(place: Place | None) -> tuple[Place, str] | None:
    """The innermost `while` around a line that changes no name of its condition, and a sentence about it."""
    loops = [node for node in _loops(place) if not _names(node.test) & _assigned(node)] if place else []
    if not loops:
        return None
    loop = max(loops, key=lambda node: node.lineno)
    called = {
        n.func.id for n in ast.walk(loop.test) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    names = " or ".join(f"`{name}`" for name in sorted(_names(loop.test) - called))
    text = linecache.getline(place.file, loop.lineno).rstrip()
    condition = ast.unparse(loop.test)
    if not names:
        return replace(
            place, line=loop.lineno, text=text
        ), f"The loop `while {condition}` never ends by itself."
    sentence = f"Nothing in the loop `while {condition}` changes {names}."
    return replace(place, line=loop.lineno, text=text), sentence


def _loops(place: Place) -> list[ast.While]:
    """The `while` loops around a line, in the function that it belongs to; without a `break` or `return`."""
    lines = linecache.getlines(place.file)
    starts = [n for n, line in enumerate(lines[: place.line]) if line.lstrip().startswith("def ")]
    for start in reversed(starts):
        try:
            tree = ast.parse(textwrap.dedent("".join(inspect.getblock(lines[start:]))))
        except SyntaxError:
            continue
        ast.increment_lineno(tree, start)
        loops = [
            n for n in ast.walk(tree) if isinstance(n, ast.While) and n.lineno <= place.line <= n.end_lineno
        ]
        return [n for n in loops if not any(isinstance(p, ast.Break | ast.Return) for p in ast.walk(n))]
    return []


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {"tl", "gl"}


def _assigned(loop: ast.While) -> set[str]:
    """The names that a loop assigns to, in whole or in part, and whose methods it calls: `rows.append`."""
    stored, found = (ast.Store, ast.Del), set()
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and isinstance(node.ctx, stored):
            found.add(node.id)
        part = isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, stored)
        changed = node if part else node.func if isinstance(node, ast.Call) else None
        if isinstance(changed, ast.Subscript | ast.Attribute):
            found |= _names(changed.value)
    return found
