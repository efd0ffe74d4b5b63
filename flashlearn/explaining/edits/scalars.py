"""Edits of scalar factors: one operand in another base, a scale after the mask, 1/√D in place of alpha."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of, names_in
from flashlearn.explaining.edits.name_families import NameFamilies

LN_2, LOG2_E = "0.6931471805599453", "1.4426950408889634"
POWERS, LOGARITHMS = ("exp2",), ("log", "log2")
DIGITS = 1e-3

OTHER_BASE = edit_kind(
    "other base",
    question="In which base is each of the numbers here: powers of e, or powers of 2?",
    changes_values=True,
)
SCALED_MASK = edit_kind(
    "scaled mask",
    question="What does a negative scale make of −∞, and of the maximum?",
    changes_values=True,
)
OWN_SCALE = edit_kind(
    "own scale",
    question="Which scale is passed to the function, and which one does this line use?",
    changes_values=True,
    by_chance=True,
)


def scalar_edits(text: SourceText, node: ast.AST, known: NameFamilies) -> Iterator[Edit]:
    """Every such edit of one node."""
    if isinstance(node, ast.Call) and name_of(node) in POWERS and len(node.args) == 1:
        difference = node.args[0]
        if isinstance(difference, ast.BinOp) and isinstance(difference.op, ast.Sub):
            yield from _converted(text, difference, (difference.right, difference.left), (LOG2_E,))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if any(isinstance(n, ast.Call) and name_of(n) in LOGARITHMS for n in ast.walk(other)):
                yield from _converted(text, node, (one,), (LN_2, LOG2_E))
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for factor, call in ((node.left, node.right), (node.right, node.left)):
            yield from _scaled_before_the_mask(text, node, factor, call)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        for one, other in ((LN_2, LOG2_E), (LOG2_E, LN_2)):
            if math.isclose(node.value, float(one), rel_tol=DIGITS):
                yield text.edit(OTHER_BASE, node, other)
    if _is_inverse_root(node):
        for name in known.scales:
            if name not in names_in(node):
                yield text.edit(OWN_SCALE, node, name)


def _converted(
    text: SourceText, whole: ast.BinOp, sides: tuple[ast.expr, ...], factors: tuple[str, ...]
) -> Iterator[Edit]:
    """One of the operands times a factor; the whole is quoted."""
    start, end = text.span(whole)
    for variant, side in enumerate(sides):
        first, last = text.span(side)
        for factor in factors:
            scaled = f"{bracketed(side, text.of(side))} * {factor}"
            put = f"{text.raw[start:first].decode()}{scaled}{text.raw[last:end].decode()}"
            yield text.edit(OTHER_BASE, whole, put, variant)


def _scaled_before_the_mask(
    text: SourceText, node: ast.BinOp, factor: ast.expr, call: ast.expr
) -> Iterator[Edit]:
    """`tl.where(seen, a * s, -inf)` for `a * tl.where(seen, s, -inf)`: a negative factor turns −∞ into +∞."""
    if not isinstance(call, ast.Call) or name_of(call) != "where" or len(call.args) != 3:
        return
    if "inf" in text.of(call.args[2]):
        (first, last), (start, end) = text.span(call), text.span(call.args[1])
        head, tail = text.raw[first:start].decode(), text.raw[end:last].decode()
        scaled = f"{bracketed(factor, text.of(factor))} * {bracketed(call.args[1], text.of(call.args[1]))}"
        yield text.edit(SCALED_MASK, node, f"{head}{scaled}{tail}")


def _is_inverse_root(node: ast.AST) -> bool:
    """True for 1 / sqrt(D), rsqrt(D) and D ** -0.5."""
    if isinstance(node, ast.Call):
        return name_of(node) == "rsqrt"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return isinstance(node.right, ast.Call) and name_of(node.right) == "sqrt"
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and ast.unparse(node.right) == "-0.5"
