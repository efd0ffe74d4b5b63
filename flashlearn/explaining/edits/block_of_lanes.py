"""Edits where a number is not multiplied by the block of its lanes: `n * BLOCK_M + arange(0, BLOCK_N)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, name_of, names_in
from flashlearn.explaining.edits.name_families import NameFamilies

BLOCK_OF_LANES = edit_kind(
    "block of lanes",
    question="How many elements lie between the first ones of two neighbouring programs, or steps?",
    moves_access=True,
)


def block_of_lanes_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """The block of the lanes for the one that a number is multiplied by, or the reverse; or for none at all.

    >>> [edit.new for edit in block_of_lanes_edits(source, function, known)]    # of the line above
    ['BLOCK_N', 'BLOCK_M']
    """
    yield from _unmoved_lanes(text, function, known)
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.BinOp)]
    products = {frozenset(names) for node in nodes if len(names := _factors(node)) == 2}
    for node in nodes:
        if not isinstance(node.op, ast.Add):
            continue
        for start, lanes in ((node.left, node.right), (node.right, node.left)):
            if isinstance(lanes, ast.Call) and name_of(lanes) == "arange" and len(lanes.args) == 2:
                counted, width = _block(start, known), lanes.args[1]
                if not isinstance(width, ast.Name) or width.id not in known.blocks:
                    continue
                if counted is not None and counted.id != width.id:
                    yield text.edit(BLOCK_OF_LANES, counted, width.id)
                    yield text.edit(BLOCK_OF_LANES, width, counted.id, 1)
                elif isinstance(start, ast.Name) and {start.id, width.id} in products:  # elsewhere
                    yield text.edit(BLOCK_OF_LANES, start, f"{start.id} * {width.id}")


def _unmoved_lanes(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """A loop's number before the lanes of each step, where nothing in the loop reads the number."""
    for loop in ast.walk(function):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        step, of_loop = loop.target.id, known.steps.get(loop.target.id)
        if of_loop is None or any(step in names_in(statement) for statement in loop.body):
            continue
        start = f"{step} * {of_loop}" if of_loop else step
        for statement in loop.body:
            value = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(value, ast.Call) and name_of(value) == "arange":
                yield text.edit(BLOCK_OF_LANES, value, f"{start} + {text.of(value)}")


def _factors(node: ast.BinOp) -> set[str]:
    """The names of which a node is the product; of another operation none."""
    sides = (node.left, node.right) if isinstance(node.op, ast.Mult) else ()
    return {side.id for side in sides if isinstance(side, ast.Name)}


def _block(start: ast.expr, known: NameFamilies) -> ast.Name | None:
    """The block by which a number is multiplied in a product, or in the one that a name stands for."""
    product = known.products.get(start.id) if isinstance(start, ast.Name) else start
    if not (isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)):
        return None
    sides = [side for side in (product.left, product.right) if isinstance(side, ast.Name)]
    return next((side for side in sides if side.id in known.blocks), None)
