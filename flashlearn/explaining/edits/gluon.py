"""Edits of Gluon kernels: operands of a WGMMA transposed, and other edits in Gluon's own names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind, name_of
from flashlearn.explaining.edits.names import CONSTANT

PRODUCTS = ("warpgroup_mma",)
TRANSPOSED = ".permute([1, 0])"

FLAGS = ("True", "False")
"""Whether an operation is asynchronous is no number. `product_edits` tries a product's `use_acc` itself."""

OPERAND_TRANSPOSED = edit_kind(
    "operand transposed",
    question="What are the rows of this operand, and over which of its axes does the product sum?",
)


def is_gluon(function: ast.FunctionDef) -> bool:
    """True for a function under one of Gluon's decorators."""
    return any("gluon" in ast.unparse(d) for d in function.decorator_list)


def product_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """An operand of a product in shared memory transposed, or not; the accumulator kept, or not."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or name_of(node) not in PRODUCTS:
            continue
        for operand in node.args[:2]:
            written = text.of(operand)
            if written.endswith(TRANSPOSED):
                yield text.edit(OPERAND_TRANSPOSED, operand, written.removesuffix(TRANSPOSED))
            elif not isinstance(operand, ast.Call):  # the result of a conversion is in registers
                yield text.edit(OPERAND_TRANSPOSED, operand, written + TRANSPOSED)
        for keyword in node.keywords:
            if keyword.arg == "use_acc" and isinstance(keyword.value, ast.Constant):
                yield text.edit(CONSTANT, keyword.value, str(not keyword.value.value))


def in_gluon(edit: Edit) -> Edit | None:
    """The edit in Gluon's names, or None if it does not apply to a Gluon kernel."""
    if not edit.kind.in_gluon or edit.old in FLAGS:
        return None
    if "tl." not in edit.old:
        edit = replace(edit, put=edit.put.replace("tl.", "gl."), new=edit.new.replace("tl.", "gl."))
    return edit if edit.new != edit.old else None
