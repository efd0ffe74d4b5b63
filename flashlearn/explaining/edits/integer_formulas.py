"""Edits of formulas of integers and of the limits of sums: rounding, a bound, one more or one less."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from flashlearn.explaining.edits.calls import FUNCTION
from flashlearn.explaining.edits.edit import Edit, SourceText, bracketed, edit_kind, name_of
from flashlearn.explaining.edits.names import OTHER_NAME
from flashlearn.explaining.edits.operators import BRACKETS, OPERATOR, REDUNDANT_OPERAND
from flashlearn.explaining.edits.rounding import ROUND_DOWN, ROUND_UP, rounded_sizes, rounds_up
from flashlearn.explaining.edits.statements import MISSING_FACTOR

DIVISIONS = ast.Div | ast.FloorDiv | ast.Mod
SUMMATIONS = ("Sum", "summation", "Product", "product")
EXCHANGED = {
    **{"min": "max", "max": "min", "Min": "Max", "Max": "Min"},
    **{"floor": "ceiling", "ceiling": "floor", "Sum": "Product", "Product": "Sum", "prod": "sum"},
}

OFF_BY_ONE = edit_kind(
    "off by one",
    question="Should this be the last index, or the one after it?",
    by_chance_in_integers=True,
)
OTHER_BOUND = edit_kind(
    "other bound",
    question="What does this index count, and how many are there?",
    by_chance_in_integers=True,
)
MISSING_STEP = edit_kind(
    "missing step",
    question="By how much do two neighbouring values of this index differ?",
    by_chance_in_integers=True,
)
MISSING_CLAMP = edit_kind(
    "missing clamp",
    question="What are the smallest and the largest values that this may take?",
    by_chance_in_integers=True,
)


def integer_edits(text: SourceText, node: ast.AST, names: list[str]) -> Iterator[Edit]:
    """The edits of one node of a formula."""
    if isinstance(node, ast.Call):
        yield from _of_call(text, node, names)
    elif isinstance(node, ast.BinOp):
        yield from _of_operation(text, node, names)


def loop_edits(text: SourceText, loop: ast.For | ast.While, names: list[str]) -> Iterator[Edit]:
    """A factor that a loop's bound lacks, the step of a range, another name in the test of a `while`."""
    if isinstance(loop, ast.While):
        bounds = [loop.test.left, *loop.test.comparators] if isinstance(loop.test, ast.Compare) else []
        loaded = (node for node in ast.walk(loop.test) if isinstance(node, ast.Name))
        for node in loaded:
            yield from (text.edit(OTHER_NAME, node, name, 5) for name in names if name != node.id)
    elif isinstance(loop.iter, ast.Call) and name_of(loop.iter) == "range":
        bounds = loop.iter.args
        if len(bounds) == 2:
            start, end = map(text.of, bounds)
            head = text.of(loop.iter.func)
            for name in names:
                yield text.edit(MISSING_STEP, loop.iter, f"{head}({start}, {end}, {name})")
    else:
        return
    for bound in bounds:
        if isinstance(bound, ast.Constant):
            continue
        for name in names:
            if name not in text.of(bound):
                written = bracketed(bound, text.of(bound))
                yield text.edit(MISSING_FACTOR, bound, f"{written} * {name}", 2)


def clamp_edits(text: SourceText, value: ast.expr, names: list[str]) -> Iterator[Edit]:
    """A value that is 0 at least, or at most what a name says."""
    if isinstance(value, ast.Constant | ast.Lambda | ast.Dict | ast.List | ast.ListComp | ast.Tuple):
        return
    written = text.of(value)
    yield text.edit(MISSING_CLAMP, value, f"max(0, {written})")
    for name in names:
        if name != written:
            yield text.edit(MISSING_CLAMP, value, f"min({written}, {name})", 1)


def _of_call(text: SourceText, node: ast.Call, names: list[str]) -> Iterator[Edit]:
    """The other of two functions, one of two arguments alone, a sum's last index or that of another sum."""
    name, head, whole = name_of(node), text.of(node.func), text.of(node)
    if name in EXCHANGED:
        yield text.edit(FUNCTION, node, head[: -len(name)] + EXCHANGED[name] + whole[len(head) :])
    if name in ("min", "max", "Min", "Max") and len(node.args) == 2:
        for argument in node.args:
            yield text.edit(REDUNDANT_OPERAND, node, text.of(argument))
    if name in ("floor", "ceiling") and len(node.args) == 1:
        yield text.edit(REDUNDANT_OPERAND, node, f"({text.of(node.args[0])})")
    limits = node.args[1:] if name in SUMMATIONS else ()
    ends = [limit.elts[2] for limit in limits if isinstance(limit, ast.Tuple) and len(limit.elts) == 3]
    for end in ends:
        for size in (one for one in names if one[:1].isupper()):
            yield text.edit(OTHER_BOUND, end, f"{size} - 1")
    ends += node.args[-1:] if name == "range" else []
    for end in ends:
        shifted = isinstance(end, ast.BinOp) and text.of(end.right) == "1"
        if shifted:
            yield text.edit(OFF_BY_ONE, end, text.of(end.left))
        for step in () if shifted else ("- 1", "+ 1"):
            yield text.edit(OFF_BY_ONE, end, f"{text.of(end)} {step}")


def _of_operation(text: SourceText, node: ast.BinOp, names: list[str]) -> Iterator[Edit]:
    """Rounding up for down and the reverse; quotient for remainder; a sum for a product."""
    left, right = text.of(node.left), text.of(node.right)
    a, b = bracketed(node.left, left), bracketed(node.right, right)
    if isinstance(node.op, ast.FloorDiv):
        if not rounds_up(node):
            yield text.edit(ROUND_UP, node, f"-(-{a} // {b})")
        yield text.edit(OPERATOR, node, f"{a} / {b}", 1)
        yield text.edit(REDUNDANT_OPERAND, node, b, 1)
    if isinstance(node.op, ast.FloorDiv | ast.Mod):
        other = "%" if isinstance(node.op, ast.FloorDiv) else "//"
        for name in names:
            if name != right:
                yield text.edit(OPERATOR, node, f"{a} {other} {name}", 1)
    if isinstance(node.op, ast.Div):
        yield text.edit(OPERATOR, node, f"{a} // {b}")
    if isinstance(node.op, ast.Add | ast.Sub):
        yield from _divided_together(text, node)
    if isinstance(node.op, ast.Sub):
        yield text.edit(REDUNDANT_OPERAND, node, b, 1)
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.BinOp):
        yield from _of_product(text, node, node.left)
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.UnaryOp):
        yield from _of_rounded_up(text, node, node.left.operand)
    one_more = isinstance(node.op, ast.Add) and right == "1"
    if one_more and isinstance(node.left, ast.Call) and name_of(node.left) == "floor":
        head = text.of(node.left.func).removesuffix("floor")
        yield text.edit(FUNCTION, node, f"{head}ceiling({', '.join(map(text.of, node.left.args))})")


def _divided_together(text: SourceText, node: ast.BinOp) -> Iterator[Edit]:
    """`(a + b) // c` for `a + b // c`, and `x - (a + b) // c` for `x - a + b // c`."""
    if not (isinstance(node.right, ast.BinOp) and isinstance(node.right.op, DIVISIONS)):
        return
    last = isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Add | ast.Sub)
    (start, end), divided = text.span(node), text.span(node.right.left)[1]
    for first in (node.left, node.left.right) if last else (node.left,):
        at = text.span(first)[0]
        cuts = itertools.pairwise((start, at, divided, end))
        before, both, after = (text.raw[i:j].decode() for i, j in cuts)
        if both.count("(") == both.count(")"):
            yield text.edit(BRACKETS, node, f"{before}({both}){after}")


def _of_product(text: SourceText, node: ast.BinOp, inner: ast.BinOp) -> Iterator[Edit]:
    """`a * (b + c)` for `a * b * c`; `-(-x // b) * b` for `x // b * b`, and `x` alone."""
    a, b, c = text.of(inner.left), text.of(inner.right), text.of(node.right)
    if isinstance(inner.op, ast.Mult):
        yield text.edit(OPERATOR, node, f"{a} * ({b} + {c})", 1)
    if isinstance(inner.op, ast.FloorDiv) and b == c:
        yield text.edit(ROUND_UP, node, f"-(-{bracketed(inner.left, a)} // {b}) * {b}")
        yield text.edit(REDUNDANT_OPERAND, node, a)
        for size in rounded_sizes(inner):
            yield text.edit(REDUNDANT_OPERAND, node, text.of(size))
    if isinstance(inner.op, ast.FloorDiv) and b != c:
        yield text.edit(BRACKETS, node, f"{bracketed(inner.left, a)} // ({b} * {c})")


def _of_rounded_up(text: SourceText, node: ast.BinOp, quotient: ast.expr) -> Iterator[Edit]:
    """`x // b * b` for `-(-x // b) * b`, and `x` alone."""
    if not (isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.FloorDiv)):
        return
    size, block = quotient.left, text.of(node.right)
    if isinstance(size, ast.UnaryOp) and text.of(quotient.right) == block:
        x = text.of(size.operand)
        yield text.edit(ROUND_DOWN, node, f"{bracketed(size.operand, x)} // {block} * {block}")
        yield text.edit(REDUNDANT_OPERAND, node, x)
