"""Another mask for an access: one that knows the indices which move its address."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flashlearn.explaining.edits.calls import name_of
from flashlearn.explaining.edits.name_families import Families
from flashlearn.explaining.edits.source_text import Edit, Text

MASKED = ("load", "store", "atomic_add")
DEEP = 6
"""So often names are followed to what they were made of."""


def other_masks(text: Text, function: ast.FunctionDef, known: Families) -> Iterator[Edit]:
    """A mask's name for another's, likelier if that one bounds the address and this one does not."""
    made = _made(function)
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or name_of(node) not in MASKED or not node.args:
            continue
        mask = next((k.value for k in node.keywords if k.arg == "mask"), None)
        if not isinstance(mask, ast.Name):
            continue
        moved = _origins(_names(node.args[0]), made) & {*known.offsets}
        for other in known.masks:
            if other.isidentifier() and other != mask.id:
                fits = moved <= _origins({other}, made) and not moved <= _origins({mask.id}, made)
                yield text.edit("another mask", mask, other, 0 if fits else 1, "mask")


def _made(function: ast.FunctionDef) -> Mapping[str, set[str]]:
    """The names of which each name is made, of its first value."""
    made: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for one, its in pairs:
                if isinstance(one, ast.Name):
                    made.setdefault(one.id, _names(its))
    return made


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _origins(names: set[str], made: Mapping[str, set[str]]) -> set[str]:
    found = set(names)
    for _ in range(DEEP):
        found |= {origin for name in found for origin in made.get(name, ())}
    return found
