"""Edits of a single name, number or subscript."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind
from flashlearn.explaining.edits.name_families import NameFamilies
from flashlearn.explaining.edits.operators import INDEX_NOT_SCALED, TILES_TO_ELEMENTS

OTHER_INTEGERS = {0: (1, 2, -1), 1: (0, 2), 2: (1, 3, 0), 3: (2, 1)}
OTHER_AXIS = {":, None": "None, :", "None, :": ":, None"}
"""A vector as a row for one as a column, and the reverse."""
OTHER_FLOATS = ("0.0", 'float("-inf")', "1.0", "0.5", "2.0")

SIGN_BEFORE = re.compile(rb"(?:^|[(\[{,=:+*/%<>|&-]|\breturn\b)\s*(-\s*)$")
"""A minus before a number that is its sign, and subtracts it from nothing."""

OTHER_NAME = edit_kind(
    "name",
    question="What does each of these names stand for, and which of them belongs here?",
    moves_access=True,
    by_chance_in_integers=True,
    mixes_names=True,
)
REDUNDANT_FACTOR = edit_kind(
    "redundant factor",
    question="Which factors does this value contain already, and which of them belong here?",
    moves_access=True,
)
CONSTANT = edit_kind(
    "constant", question="What is this number for, and which value must it have?", by_chance=True
)
SIZE = edit_kind("size", question="How many elements must this number cover?", requires="access slice")
BRANCH = edit_kind(
    "branch",
    question="When is each of the two branches taken, and what is right in each case?",
    changes_values=True,
    by_chance=True,
)
BROADCAST_AXIS = edit_kind(
    "broadcast axis", question="Along which of the tile's two axes does this vector run?", moves_access=True
)


def name_edits(text: SourceText, node: ast.Name, known: NameFamilies) -> Iterator[Edit]:
    """Another name of the same family, or one factor of the product that the name stands for."""
    about = "strides" if node.id in known.strides else ""
    for variant, other in enumerate(known.others(node.id, node.lineno)):
        yield text.edit(OTHER_NAME, node, other, min(variant, 4), about)
    step = known.steps.get(node.id)  # "" where the loop counts elements, None where that is not evident
    steps = known.blocks if step not in known.blocks else [step]
    for block in steps if node.id in known.counted and step != "" else ():
        yield text.edit(TILES_TO_ELEMENTS, node, f"({node.id} * {block})", 1)
    if node.id in known.programs:
        for variant, size in enumerate((*known.blocks, *known.scalars)):
            if size not in known.programs and size in known.parameters:
                yield text.edit(INDEX_NOT_SCALED, node, f"({node.id} * {size})", variant)
    product = known.products.get(node.id)
    if product is not None and product.lineno < node.lineno:
        for factor, other in ((product.left, product.right), (product.right, product.left)):
            if isinstance(other, ast.Constant | ast.UnaryOp):
                continue  # a number is taken out where it is written
            yield text.edit(REDUNDANT_FACTOR, node, f"({text.of(factor)})")


def constant_edits(text: SourceText, node: ast.Constant, known: NameFamilies, kernel: bool) -> Iterator[Edit]:
    """Another number, or one of the function's parameters."""
    value, others = node.value, ()
    if isinstance(value, bool):
        others = (str(not value),)
    elif isinstance(value, int):
        others = tuple(map(str, OTHER_INTEGERS.get(value, ())))
        for number in known.numbers if value > 3 else ():
            if number != value:
                yield text.edit(SIZE, node, str(number))
    elif isinstance(value, float):
        others = tuple(n for n in OTHER_FLOATS if n != text.of(node))
    for variant, new in enumerate(others):
        edit = text.edit(CONSTANT, node, new, variant)
        yield _without_its_sign(text, edit) if new in ("0", "0.0") else edit
    if isinstance(value, int | float) and not isinstance(value, bool):
        for name in known.blocks if kernel else known.parameters:
            if not kernel or (isinstance(value, int) and value > 1):
                yield text.edit(CONSTANT, node, name, 3)


def _without_its_sign(text: SourceText, zero: Edit) -> Edit:
    """`0` for `-1`, and not `-0`: the minus is a sign where no operand comes before it."""
    sign = SIGN_BEFORE.search(text.raw[: zero.start])
    if sign is None:
        return zero
    return replace(zero, start=sign.start(1), old=f"-{zero.old}")


def subscript_edits(text: SourceText, node: ast.Subscript) -> Iterator[Edit]:
    """A vector broadcast as a row instead of a column, or the reverse."""
    other = OTHER_AXIS.get(text.of(node.slice))
    if other:
        vector = bracketed(node.value, text.of(node.value))
        is_mask = isinstance(node.value, ast.Compare)
        yield text.edit(BROADCAST_AXIS, node, f"{vector}[{other}]", int(is_mask))


def conditional_edits(text: SourceText, node: ast.IfExp) -> Iterator[Edit]:
    """One branch of a conditional expression in all cases."""
    branches = (node.body, node.orelse)
    kind = SIZE if all(isinstance(branch, ast.Constant) for branch in branches) else BRANCH
    for branch in branches:
        yield text.edit(kind, node, text.of(branch))
