"""Edits of what a tile is reduced to, of a result that nothing takes, of a guard that stays in a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.calls import name_of
from flashlearn.explaining.edits.name_families import Families
from flashlearn.explaining.edits.source_text import Edit, Text

HARMLESS = {"min": 'float("inf")', "max": 'float("-inf")', "sum": "0.0"}
"""What a reduction may take in without a change."""

VALUES = ("dot", "dot_scaled", "fma", "where", "maximum", "minimum", "sum", "max", "min", "exp", "exp2")
VALUES += ("log", "log2", "abs", "trans", "permute", "reshape", "to", "cast", "advance", "add", "mul")
"""Calls that change none of their arguments."""

EXPONENTIALS = ("exp", "exp2")


def reduced(text: Text, node: ast.Call, known: Families) -> Iterator[Edit]:
    """A reduction along one axis and not of the whole tile, or of what a mask lets through alone."""
    name = name_of(node)
    if name not in HARMLESS or len(node.args) not in (1, 2):
        return
    inner, rest = text.of(node.args[0]), text.raw[text.span(node.args[0])[1] : text.span(node)[1]].decode()
    if len(node.args) == 1 and not node.keywords:
        for variant, axis in enumerate((1, 0)):
            yield text.edit("no axis", node, f"{text.of(node.func)}({inner}, axis={axis})", variant)
    if isinstance(node.args[0], ast.Name):
        for variant, mask in enumerate(known.masks):
            hidden = f"tl.where({mask}, {inner}, {HARMLESS[name]})"
            seldom = 0 if name == "min" else variant  # what fills up a tile is hardly ever right for it
            yield text.edit("hidden lanes", node, f"{text.of(node.func)}({hidden}{rest}", seldom)


def thrown_away(text: Text, statement: ast.stmt, kernel: bool) -> Iterator[Edit]:
    """A call that changes nothing and stands alone: its result for one of its arguments."""
    if not kernel or not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return
    call = statement.value
    if name_of(call) not in VALUES:
        return
    names = [part.id for part in call.args if isinstance(part, ast.Name)]
    names += [k.value.id for k in call.keywords if k.arg == "acc" and isinstance(k.value, ast.Name)]
    for variant, name in enumerate(reversed(names)):
        yield text.edit("thrown away", statement, f"{name} = {text.of(call)}", variant)


def guards_kept(text: Text, body: list[ast.stmt]) -> Iterator[Edit]:
    """`m = tl.where(m == -inf, 0, m)`: the number that guards an exponent goes on as the maximum itself."""
    for at, statement in enumerate(body):
        name = _guarded(statement)
        if not name:
            continue
        safe = f"{name}_for_exp"
        (first, end), behind = text.span(statement), text.span(body[-1])[1]
        put = safe + text.raw[first:end].decode().removeprefix(name)
        for use in sorted(_in_exponents(body[at + 1 :], name), key=text.span):
            start, after = text.span(use)
            put += text.raw[end:start].decode() + safe
            end = after
        put += text.raw[end:behind].decode()
        old = text.of(statement)
        yield Edit("guard kept", first, behind, put, statement.lineno, old, safe + old.removeprefix(name))


def _guarded(statement: ast.stmt) -> str:
    """The name that a statement assigns itself to with a number in place of an infinity."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return ""
    name, value = statement.targets[0].id, statement.value
    if not isinstance(value, ast.Call) or name_of(value) != "where" or len(value.args) != 3:
        return ""
    condition, *others = map(ast.unparse, value.args)
    return name if name in others and "inf" in condition and name in condition else ""


def _in_exponents(body: list[ast.stmt], name: str) -> list[ast.Name]:
    """Where a name stands in the argument of an exponential, up to where it gets another value."""
    found = []
    for statement in body:
        calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call) and name_of(n) in EXPONENTIALS]
        found += [n for call in calls for n in ast.walk(call) if isinstance(n, ast.Name) and n.id == name]
        stored = (n for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        if any(n.id == name for n in stored):
            break
    return list(dict.fromkeys(found))
