"""What a mask tests: its conditions, each with the lanes' numbers on both sides."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flashlearn.interpreter.outside.indices import bare
from flashlearn.interpreter.outside.kernel_source import (
    COMPARISONS,
    PASSED_ON,
    Scope,
    called,
    passed_on,
    reshaped,
)

FLIPPED = {ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Lt: ast.Gt, ast.LtE: ast.GtE}
DEEPEST = 8


@dataclass(frozen=True)
class Condition:
    """`tested < bound`, as written in a line; with `strict` False `<=`, with `upper` False `>` or `>=`."""

    tested: ast.expr
    numbers: np.ndarray
    bound: np.ndarray
    strict: bool
    upper: bool
    text: str
    line: int
    scope: Scope

    @property
    def tested_text(self) -> str:
        """What is tested, as written."""
        return ast.unparse(bare(self.tested))


class Unclear(Exception):
    """A mask with a part that is no comparison of integers."""


class Precedence(Exception):
    """A mask that compares the result of an `&`, which binds more tightly: its text, and its line."""


def mask_of(call: ast.Call) -> ast.expr | None:
    """The mask of a load, a store or an atomic."""
    given = next((k.value for k in call.keywords if k.arg == "mask"), None)
    if given is not None:
        return given
    number = 1 if called(call) == "load" else 2
    return call.args[number] if len(call.args) > number else None


def conditions_of(scope: Scope, either: bool = False) -> list[Condition]:
    """The conditions of the mask of the access under way, each once from either side. Raises Unclear.

    With `either` conditions of which one is enough are taken as well.
    """
    mask = mask_of(scope.call)
    return [] if mask is None else list(_conditions(mask, scope, (), mask.lineno, DEEPEST, either))


def _conditions(
    node: ast.expr, scope: Scope, wraps: tuple[ast.expr, ...], line: int, depth: int, either: bool
) -> Iterator[Condition]:
    joins = (ast.BitAnd, ast.BitOr) if either else (ast.BitAnd,)
    if depth == 0:
        raise Unclear
    if isinstance(node, ast.BinOp) and isinstance(node.op, joins):
        parts = [node.left, node.right]
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        parts = node.values
    elif isinstance(node, ast.Subscript):
        parts, wraps = [node.value], (node.slice, *wraps)
    elif isinstance(node, ast.Call) and called(node) in PASSED_ON:
        parts = [passed_on(node)]
    elif isinstance(node, ast.Name):
        yield from _named(node, scope, wraps, depth, either)
        return
    elif isinstance(node, ast.Compare):
        yield from _compared(node, scope, wraps, line)
        return
    else:
        raise Unclear
    for part in parts:
        yield from _conditions(part, scope, wraps, part.lineno, depth - 1, either)


def _named(
    node: ast.Name, scope: Scope, wraps: tuple[ast.expr, ...], depth: int, either: bool
) -> Iterator[Condition]:
    given = scope.argument(node.id)
    if given is not None and node.id not in scope.definitions:
        yield from _conditions(given, scope.parent, wraps, given.lineno, depth - 1, either)
        return
    definition = scope.only_value(node.id)
    if definition is None:
        raise Unclear
    yield from _conditions(definition.value, scope, wraps, definition.line, depth - 1, either)


def _compared(node: ast.Compare, scope: Scope, wraps: tuple[ast.expr, ...], line: int) -> Iterator[Condition]:
    text = ast.unparse(node)
    operands = [node.left, *node.comparators]
    if any(_is_conjunction(one) for one in operands):
        raise Precedence(text, line)
    for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
        if type(op) not in COMPARISONS:
            raise Unclear
        for tested, kind, bound in ((left, type(op), right), (right, FLIPPED[type(op)], left)):
            numbers, limit = (_shaped(scope, one, wraps) for one in (tested, bound))
            if numbers is None or limit is None:
                raise Unclear
            strict, upper = kind in (ast.Lt, ast.Gt), kind in (ast.Lt, ast.LtE)
            yield Condition(tested, numbers, limit, strict, upper, text, line, scope)


def _is_conjunction(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)


def _shaped(scope: Scope, node: ast.expr, wraps: tuple[ast.expr, ...]) -> np.ndarray | None:
    numbers = scope.numbers(node)
    for wrap in wraps:
        numbers = reshaped(numbers, wrap) if numbers is not None else None
    return numbers
