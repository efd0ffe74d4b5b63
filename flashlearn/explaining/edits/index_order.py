"""Edits of an index over two dimensions: `b * H + h` for `h * B + b`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind
from flashlearn.explaining.edits.name_families import NameFamilies

INDEX_ORDER = edit_kind(
    "index order",
    question="In which order do the dimensions lie in memory, the outer one first?",
    moves_access=True,
    mixes_names=True,
)
MOST = 3
"""How many sizes are tried for the inner dimension."""


def index_order_edits(text: SourceText, function: ast.FunctionDef, known: NameFamilies) -> Iterator[Edit]:
    """The outer index as the inner one: `y * N + x` for `x * M + y`, N being another size."""
    for node in ast.walk(function):
        if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
            continue
        for product, inner in ((node.left, node.right), (node.right, node.left)):
            if not (isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)):
                continue
            names = [part for part in (product.left, product.right, inner) if isinstance(part, ast.Name)]
            if len(names) != 3:
                continue
            outer, size, within = (part.id for part in names)
            for variant, other in enumerate(_sizes(outer, {outer, size, within}, known)):
                yield text.edit(INDEX_ORDER, node, f"{within} * {other} + {outer}", variant)


def _sizes(index: str, used: set[str], known: NameFamilies) -> Sequence[str]:
    """Sizes that may be that of the dimension of `index`, the one that is named like it first."""
    sizes = [name for name in known.scalars if name in known.parameters and name not in used]
    return sorted(sizes, key=lambda name: name.lower() != index.lower())[:MOST]
