"""`and`, `or`, `not`, `max` and `min` of tiles, lane by lane, as triton's compiler takes them.

Python asks for the truth of a whole value, and a tile has none. Triton's compiler never asks: `mask and seen`
is the logical product of each lane (triton/compiler/code_generator.py, `visit_BoolOp`). So the interpreted
copy of a kernel calls these functions in their place; of single numbers they do what Python does.
"""

from __future__ import annotations

import ast
import builtins
import functools
import re
from typing import Any

import triton.language as tl
from triton.runtime import interpreter

MORE_AND, MORE_OR, AND, OR, NOT = (f"__fl_{name}" for name in ("more_and", "more_or", "and", "or", "not"))
KEPT = "__fl_side"
WORDS = re.compile(r"\b(and|or|not)\b")
"""Without one of these words in its text a kernel has nothing to put the calls into."""


def instrument(definition: ast.FunctionDef) -> None:
    """Put the calls into a kernel's syntax tree, in place; new nodes have no lines yet."""
    truth = _TruthOfTiles()
    definition.body = [truth.visit(statement) for statement in definition.body]


class _TruthOfTiles(ast.NodeTransformer):
    """Turns `a and b` into `and_(side, b) if more_and(side := a) else side`: no more is evaluated."""

    def __init__(self) -> None:
        self.count = 0

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node  # names that are kept would be the lambda's, and a compiled kernel has none

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_Lambda

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        more, join = (MORE_AND, AND) if isinstance(node.op, ast.And) else (MORE_OR, OR)
        return functools.reduce(lambda left, right: self._joined(node, more, join, left, right), node.values)

    def _joined(self, node: ast.BoolOp, more: str, join: str, left: ast.expr, right: ast.expr) -> ast.expr:
        self.count += 1
        name = f"{KEPT}{self.count}"
        kept = ast.NamedExpr(ast.Name(name, ast.Store()), left)
        test = ast.Call(ast.Name(more, ast.Load()), [kept], [])
        both = ast.Call(ast.Name(join, ast.Load()), [ast.Name(name, ast.Load()), right], [])
        return ast.copy_location(ast.IfExp(test, both, ast.Name(name, ast.Load())), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Not):
            return node
        return ast.copy_location(ast.Call(ast.Name(NOT, ast.Load()), [node.operand], []), node)


def _is_tile(value: Any) -> bool:
    return isinstance(value, tl.tensor) and value.type.is_block()


def _more_and(left: Any) -> bool:
    return _is_tile(left) or bool(left)


def _more_or(left: Any) -> bool:
    return _is_tile(left) or not left


def _and(left: Any, right: Any) -> Any:
    if not _is_tile(left) and not _is_tile(right):
        return right
    if not isinstance(left, tl.tensor):
        return right
    if not isinstance(right, tl.tensor):
        return left if right else right
    return interpreter.interpreter_semantic.logical_and(left, right)


def _or(left: Any, right: Any) -> Any:
    if not _is_tile(left) and not _is_tile(right):
        return right
    if not isinstance(left, tl.tensor):
        return right
    if not isinstance(right, tl.tensor):
        return right if right else left
    return interpreter.interpreter_semantic.logical_or(left, right)


def _not(value: Any) -> Any:
    return interpreter.interpreter_semantic.not_(value) if _is_tile(value) else not value


def _largest(*args: Any, **kwargs: Any) -> Any:
    if len(args) > 1 and any(map(_is_tile, args)):
        return functools.reduce(tl.maximum, args)
    return builtins.max(*args, **kwargs)


def _smallest(*args: Any, **kwargs: Any) -> Any:
    if len(args) > 1 and any(map(_is_tile, args)):
        return functools.reduce(tl.minimum, args)
    return builtins.min(*args, **kwargs)


NAMES = {
    MORE_AND: _more_and,
    MORE_OR: _more_or,
    AND: _and,
    OR: _or,
    NOT: _not,
    "max": _largest,
    "min": _smallest,
}
"""What the interpreted copy of a kernel finds under these names, unless the learner uses one for another."""
