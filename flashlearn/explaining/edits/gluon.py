"""Edits of Gluon kernels: operands of a WGMMA turned round, and other edits in Gluon's own names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from flashlearn.explaining.edits.calls import name_of
from flashlearn.explaining.edits.source_text import Edit, Text

PRODUCTS = ("warpgroup_mma",)
TURNED = ".permute([1, 0])"

NOT_HERE = frozenset({"narrow", "dtype", "unmasked", "other", "masked in part", "added"})
"""Kinds of edits for tiles of pointers, and for types that Triton converts by itself."""

FLAGS = ("True", "False")
"""What is asynchronous is no number; of a product's accumulator `of_products` asks by itself."""


def is_gluon(function: ast.FunctionDef) -> bool:
    """True for a function under a decorator of Gluon's."""
    return any("gluon" in ast.unparse(d) for d in function.decorator_list)


def of_products(text: Text, function: ast.FunctionDef) -> Iterator[Edit]:
    """An operand of a product in shared memory turned round, or not; the accumulator kept, or not."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or name_of(node) not in PRODUCTS:
            continue
        for operand in node.args[:2]:
            written = text.of(operand)
            if written.endswith(TURNED):
                yield text.edit("turned round", operand, written.removesuffix(TURNED))
            elif not isinstance(operand, ast.Call):  # what is converted lies in registers
                yield text.edit("turned round", operand, written + TURNED)
        for keyword in node.keywords:
            if keyword.arg == "use_acc" and isinstance(keyword.value, ast.Constant):
                yield text.edit("constant", keyword.value, str(not keyword.value.value))


def in_gluon(edit: Edit) -> Edit | None:
    """The edit in Gluon's names, or None for one that is none in a Gluon kernel."""
    if edit.kind in NOT_HERE or edit.old in FLAGS:
        return None
    if "tl." not in edit.old:
        edit = replace(edit, put=edit.put.replace("tl.", "gl."), new=edit.new.replace("tl.", "gl."))
    return edit if edit.new != edit.old else None
