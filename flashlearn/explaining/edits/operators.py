"""Edits of an operation: another operator, operands in the other order, other brackets, one operand alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of, names_in
from flashlearn.explaining.edits.name_families import NameFamilies
from flashlearn.explaining.edits.rounding import round_up_edit, rounded_down_edits, rounds_up

OPERATORS = {
    ast.Add: ("+", ("-", "*")),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("/", "+")),
    ast.Div: ("/", ("*", "-")),
    ast.FloorDiv: ("//", ("%",)),
    ast.Mod: ("%", ("//",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.MatMult: ("@", ("*",)),
}
EITHER_OPERAND_ALONE = ast.Add | ast.Mult | ast.BitAnd | ast.BitOr | ast.MatMult
NOT_COMMUTATIVE = ast.Sub | ast.Div | ast.MatMult
INDEX = re.compile(r"arange|program_id|^[A-Z]\w*$")

OPERATOR = edit_kind("operator", question="Which operation is needed here?", by_chance=True)
REDUNDANT_OPERAND = edit_kind(
    "redundant operand",
    question="Which terms and factors belong in this expression?",
    by_chance=True,
)
OPERAND_ORDER = edit_kind(
    "operand order",
    question="Which of the two operands must come first here, and what does the other order compute?",
)
OTHER_DIFFERENCE = edit_kind(
    "other difference",
    question="Which of these two is added, and which is subtracted?",
)
BRACKETS = edit_kind(
    "brackets",
    question="To which terms does each factor apply? Multiply it out, and compare with the formula.",
    moves_access=True,
    by_chance=True,
)
MISSING_EXPONENTIAL = edit_kind(
    "missing exponential",
    question="Is this used as an exponent, or as its exponential?",
)
EXPONENTIALS_APART = edit_kind(
    "exponentials apart",
    question="For which numbers does one of these exponentials overflow, or become 0, though their product "
    "is an ordinary number?",
)
TILES_TO_ELEMENTS = edit_kind(
    "tiles to elements", question="Is this a number of tiles, or of elements?", moves_access=True
)
INDEX_NOT_SCALED = edit_kind(
    "index not scaled",
    question="How far apart are the first elements of two neighbouring programs?",
    moves_access=True,
)
SIGN = edit_kind(
    "sign",
    question="Which sign does this have in the formula?",
    changes_values=True,
    by_chance=True,
)


def operation_edits(text: SourceText, node: ast.BinOp, known: NameFamilies, kernel: bool) -> Iterator[Edit]:
    """Another operation, its operands in the other order, or only one of them."""
    old, others = OPERATORS.get(type(node.op), ("", ()))
    if not old:
        return
    left, right = text.of(node.left), text.of(node.right)
    for variant, new in enumerate(others):
        yield from text.operator_edit(OPERATOR, node, old, new, variant)
    yield text.edit(REDUNDANT_OPERAND, node, left)
    if isinstance(node.op, EITHER_OPERAND_ALONE):
        yield text.edit(REDUNDANT_OPERAND, node, right)
    if not names_in(node) & {*known.pointers, *known.strides}:
        yield from _bracket_edits(text, node)
    yield from _joined_exponentials(text, node)
    if kernel and isinstance(node.op, ast.Add):
        yield from _contiguous_lanes(text, node)
    if kernel and isinstance(node.op, ast.Sub) and not INDEX.search(left):
        yield text.edit(MISSING_EXPONENTIAL, node, f"tl.exp({text.of(node)})")
    if isinstance(node.op, NOT_COMMUTATIVE):
        swapped = f"{bracketed(node.right, right)} {old} {bracketed(node.left, left)}"
        yield text.edit(OPERAND_ORDER, node, swapped)
    yield from _other_difference(text, node)
    if isinstance(node.op, ast.FloorDiv):
        if rounds_up(node):
            yield from rounded_down_edits(text, node)
        else:
            yield round_up_edit(text, node, kernel)
        yield text.edit(TILES_TO_ELEMENTS, node, f"({left} {old} {right} * {right})")


def _other_difference(text: SourceText, node: ast.BinOp) -> Iterator[Edit]:
    """A difference of names that is added to something, the other way round: x + b − a for x + a − b."""
    inner = node.left
    signs = {type(node.op), type(inner.op)} if isinstance(inner, ast.BinOp) else set()
    if signs != {ast.Add, ast.Sub} or not all(isinstance(n, ast.Name) for n in (inner.right, node.right)):
        return
    first, second = OPERATORS[type(inner.op)][0], OPERATORS[type(node.op)][0]
    a, b = text.of(inner.right), text.of(node.right)
    if a != b:
        yield text.edit(OTHER_DIFFERENCE, node, f"{text.of(inner.left)} {first} {b} {second} {a}")


def _joined_exponentials(text: SourceText, node: ast.BinOp) -> Iterator[Edit]:
    """One exponential of a sum, where two are multiplied, or of a difference, where one divides."""
    left, right = (_exponential(text, side) for side in (node.left, node.right))
    if left is None or right is None or left[0] != right[0] or not isinstance(node.op, ast.Mult | ast.Div):
        return
    (function, minus, first), (_, other_minus, second) = left, right
    sign = "-" if other_minus is isinstance(node.op, ast.Mult) else "+"
    yield text.edit(EXPONENTIALS_APART, node, f"{function}({'-' * minus}{first} {sign} {second})")


def _exponential(text: SourceText, node: ast.AST) -> tuple[str, bool, str] | None:
    """An exponential's function, whether its exponent has a minus, and the exponent without; or None."""
    if isinstance(node, ast.Subscript):
        inner = _exponential(text, node.value)
        return inner and (*inner[:2], inner[2] + text.of(node)[len(text.of(node.value)) :])
    if not isinstance(node, ast.Call) or name_of(node) not in ("exp", "exp2") or len(node.args) != 1:
        return None
    (exponent,) = node.args
    minus = isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub)
    exponent = exponent.operand if minus else exponent
    return text.of(node.func), minus, bracketed(exponent, text.of(exponent))


def unsigned_edit(text: SourceText, node: ast.UnaryOp) -> Edit:
    """The operand without its sign."""
    return text.edit(SIGN, node, text.of(node.operand))


def _contiguous_lanes(text: SourceText, node: ast.BinOp) -> Iterator[Edit]:
    """Contiguous elements for each program, where they were interleaved: `pid * B + tl.arange(0, B)`."""
    for program, lanes in ((node.left, node.right), (node.right, node.left)):
        spread = isinstance(lanes, ast.BinOp) and isinstance(lanes.op, ast.Mult)
        parts = [p for p in (lanes.left, lanes.right) if "arange(0, " in text.of(p)] if spread else []
        if len(parts) == 1 and isinstance(parts[0], ast.Call) and len(parts[0].args) == 2:
            first = bracketed(program, text.of(program))
            put = f"{first} * {text.of(parts[0].args[1])} + {text.of(parts[0])}"
            yield text.edit(INDEX_NOT_SCALED, node, put)


def _bracket_edits(text: SourceText, node: ast.BinOp) -> Iterator[Edit]:
    """A factor of one summand applied to both, or the reverse."""
    sums = ast.Add | ast.Sub
    for inner, other, first in ((node.left, node.right, True), (node.right, node.left, False)):
        if not isinstance(inner, ast.BinOp):
            continue
        a, b, c = text.of(inner.left), text.of(inner.right), text.of(other)
        sign = OPERATORS.get(type(inner.op), ("",))[0]
        if isinstance(node.op, ast.Mult) and isinstance(inner.op, sums):
            yield text.edit(BRACKETS, node, f"{a} * {c} {sign} {b}")
            yield text.edit(BRACKETS, node, f"{a} {sign} {b} * {c}")
        outer = "-" if isinstance(node.op, ast.Sub) else "+"
        if isinstance(node.op, sums) and isinstance(inner.op, ast.Mult):
            pair = (b, c) if first else (c, a)
            factor = a if first else b
            yield text.edit(BRACKETS, node, f"{factor} * ({pair[0]} {outer} {pair[1]})", 1)
            pair, factor = ((a, c), b) if first else ((c, b), a)
            yield text.edit(BRACKETS, node, f"({pair[0]} {outer} {pair[1]}) * {factor}")
