"""Edits of what is returned, tried only where its form is wrong: another dtype, another shape, transposed."""

from __future__ import annotations

import ast
import re
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


RETURNED_TWICE = edit_kind(
    "returned twice",
    question="Which tensor belongs at each place of what is returned?",
)
FIXED_SIZE = edit_kind(
    "fixed size",
    sentence="Line {line} fixes `{old}`; with `{new}`",
    question="Which size must this cover, and how large can that be?",
)
ALLOCATES = re.compile(r"\b(?:empty|zeros|full|ones)(?:_like)?\(|\bnew_(?:empty|zeros|full)\(")
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


def returned_twice_edits(text: SourceText, function: ast.FunctionDef) -> Iterator[Edit]:
    """A tensor that is allocated and not returned, for one of the two places at which another one is.

    >>> [(edit.old, edit.new) for edit in returned_twice_edits(source, function)]   # of return dv.half(), dv
    [('dv', 'dk'), ('dv', 'dk')]
    """
    nodes = list(ast.walk(function))
    tensors = [name for node in nodes if isinstance(node, ast.Assign) for name in _allocated(node)]
    for node in nodes:
        if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Tuple):
            continue
        first = [next((n for n in ast.walk(e) if isinstance(n, ast.Name)), None) for e in node.value.elts]
        given = [name.id for name in first if name is not None]
        for name in first:
            if name is not None and given.count(name.id) > 1:
                for other in dict.fromkeys(tensors):
                    if other not in given:
                        yield text.edit(RETURNED_TWICE, name, other)


def _allocated(node: ast.Assign) -> Iterator[str]:
    """The names that a statement gives tensors that it allocates."""
    target, value = node.targets[0], node.value
    several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    pairs = zip(target.elts, value.elts, strict=False) if several else ((target, value),)
    for one, its in pairs:
        if isinstance(one, ast.Name) and ALLOCATES.search(ast.unparse(its)):
            yield one.id


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
