"""Edits of what is returned, tried only where its form is wrong: another dtype, another shape, transposed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, edit_kind

RETURNED_DTYPE = edit_kind(
    "returned dtype",
    question="Which dtype does the exercise ask for, and where is the result converted to it?",
    requires="form",
)
RETURNED_SHAPE = edit_kind(
    "returned shape",
    question="Which shape does each of these have, and which one does the exercise ask for?",
    requires="form",
)


FIXED_SIZE = edit_kind(
    "fixed size",
    sentence="Line {line} fixes `{old}`; with `{new}`",
    question="Which size must this cover, and how large can that be?",
)
LEAST = 16
"""The least size of a tile that a product can have."""


def fixed_size_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """A size of the tensors, as a power of two, in place of the size of a tile that is written out."""
    sizes = [
        name.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and "shape" in ast.unparse(node.value)
        for name in ast.walk(node.targets[0])
        if isinstance(name, ast.Name) and name.id != "_"
    ]
    for node in ast.walk(function):
        launch = isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
        for keyword in node.keywords if launch else ():
            value = keyword.value
            if isinstance(value, ast.Constant) and type(value.value) is int and value.value >= LEAST:
                for variant, size in enumerate(reversed(sizes)):
                    put = f"max({value.value}, triton.next_power_of_2({size}))"
                    meant = size in (keyword.arg or "").removeprefix("B")
                    yield text.edit(FIXED_SIZE, value, put, 0 if meant else 1 + variant)


def returned_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """Every such edit of a function that is no kernel."""
    given = [argument.arg for argument in function.args.args]
    tensors = [
        name for name in given if any(f"{name}.{of}" in text.of(function) for of in ("shape", "dtype"))
    ]
    for node in ast.walk(function):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        for value in getattr(node.value, "elts", [node.value]):
            if not isinstance(value, ast.Name):
                continue
            for variant, tensor in enumerate(tensors or given[:1]):
                yield text.edit(RETURNED_DTYPE, value, f"{value.id}.to({tensor}.dtype)", variant)
                yield text.edit(RETURNED_SHAPE, value, f"{value.id}.reshape({tensor}.shape)", variant)
            yield text.edit(RETURNED_SHAPE, value, f"{value.id}.mT", 1)
