"""Edits of what is returned, tried only where its form is wrong: another dtype, another shape, transposed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of

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
WIDE = ("torch.float32", "torch.float", "torch.float64", "torch.double")
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
            written = bracketed(value, text.of(value))
            for variant, tensor in enumerate(tensors or given[:1]):
                yield text.edit(RETURNED_DTYPE, value, f"{written}.to({tensor}.dtype)", variant)
                if isinstance(value, ast.Name):
                    yield text.edit(RETURNED_SHAPE, value, f"{value.id}.reshape({tensor}.shape)", variant)
            if isinstance(value, ast.Name):
                yield text.edit(RETURNED_SHAPE, value, f"{value.id}.mT", 1)


def operands_narrowed(text: SourceText, function: ast.FunctionDef) -> set[tuple[int, int, str]]:
    """Where a conversion to fp32 or fp64 of anything but what is returned is taken away, and what is left.

    That makes the result's dtype right where the operands have it, and computes it in their precision.
    """
    nodes = list(ast.walk(function))
    returned = {
        value
        for node in nodes
        if isinstance(node, ast.Return)
        for value in getattr(node.value, "elts", [node.value])
    }
    widening = (n for n in nodes if isinstance(n, ast.Call) and n not in returned and _widens(text, n))
    return {(*text.span(node), text.of(node.func.value)) for node in widening}


def _widens(text: SourceText, node: ast.Call) -> bool:
    """True for `x.float()`, `x.double()`, `x.to(torch.float32)` and the like."""
    if not isinstance(node.func, ast.Attribute):
        return False
    given = [text.of(value) for value in [*node.args, *(keyword.value for keyword in node.keywords)]]
    named = name_of(node) in ("float", "double") and not given
    return named or (name_of(node) == "to" and any(one in WIDE for one in given))
