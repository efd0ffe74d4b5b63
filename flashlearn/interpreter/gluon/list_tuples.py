"""Lists in a kernel, which Gluon's compiler takes for tuples: `[stages] + desc.block_type.shape`."""

from __future__ import annotations

import ast
from typing import Any

ROW = "__fl_row"


class ListTuple(list):
    """A list that a tuple can be added to."""

    def __add__(self, other: Any) -> ListTuple:
        return ListTuple([*self, *other])

    def __radd__(self, other: Any) -> ListTuple:
        return ListTuple([*other, *self])


class _Rows(ast.NodeTransformer):
    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Call(ast.Name(ROW, ast.Load()), [node], []), node)


def instrument_lists(definition: ast.FunctionDef) -> None:
    """Make each list of a kernel's body a `ListTuple`, in place; new nodes have no lines yet."""
    rows = _Rows()
    definition.body = [rows.visit(statement) for statement in definition.body]
