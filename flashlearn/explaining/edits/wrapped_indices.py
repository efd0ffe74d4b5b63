"""Edits for indices that wrap around, `(start + lanes) % N`, and so count some elements twice.

What a wrapped index reads must not count: the scores that come from it are set to −∞, or what it loads to 0.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of, names_in
from flashlearn.explaining.edits.name_families import NameFamilies

WRAPPED_INDEX = edit_kind(
    "wrapped index",
    sentence="Line {line}, `{old}`, wraps indices past the end around to the first ones; "
    "with their results masked, `{new}`,",
    question="Which elements does the last tile read a second time, and what must they contribute?",
    in_gluon=False,
    whole_expression=True,
)
PRODUCTS = ("dot",)
AXES = ("[None, :]", "[:, None]")


def wrapped_index_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """The scores, or the loads, masked where an index was wrapped."""
    for statement in ast.walk(function):
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            continue
        value, index = statement.value, statement.targets[0].id
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Mod):
            continue
        if not _has_lanes(value.left, known):
            continue
        inside = " < ".join(bracketed(side, text.of(side)) for side in (value.left, value.right))
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and node.lineno > statement.lineno and _has_product(node.value):
                for axes in AXES:
                    hidden = f'tl.where(({inside}){axes}, …, float("-inf"))'
                    yield _at(text, statement, node.value, hidden)
        yield from _masked_loads(text, function, statement, index, f"({inside})")


def _has_product(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and name_of(node) in PRODUCTS for node in ast.walk(value))


def _has_lanes(node: ast.expr, known: NameFamilies) -> bool:
    return "arange" in ast.unparse(node) or bool(names_in(node) & {*known.offsets})


def _at(text: SourceText, statement: ast.stmt, node: ast.expr, hidden: str) -> Edit:
    """An edit of a later expression, which is shown at the statement that wraps."""
    (start, end), put = text.span(node), hidden.replace("…", text.of(node))
    return Edit(WRAPPED_INDEX, start, end, put, statement.lineno, text.of(statement), hidden)


def _masked_loads(
    text: SourceText, function: ast.FunctionDef, statement: ast.stmt, index: str, inside: str
) -> Iterator[Edit]:
    """Zeros in all tiles whose addresses use the index."""
    loads = [n for n in ast.walk(function) if isinstance(n, ast.Call) and name_of(n) == "load" and n.args]
    loads = sorted((n for n in loads if index in names_in(n.args[0])), key=text.span)
    if not loads:
        return
    begin, end = text.span(loads[0])[0], text.span(loads[-1])[1]
    put, at, first = "", begin, ""
    for load in loads:
        start, stop = text.span(load)
        axes = next((a for a in AXES if f"{index}{a}" in ast.unparse(load.args[0])), "")
        masked = f"tl.where({inside}{axes}, …, 0.0)"
        put += text.raw[at:start].decode() + masked.replace("…", text.of(load))
        at, first = stop, first or masked
    yield Edit(WRAPPED_INDEX, begin, end, put, statement.lineno, text.of(statement), first, 1)
