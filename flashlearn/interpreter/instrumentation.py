"""Kernels rewritten so that they publish every value they assign, for observers that ask for values.

A site is a statement that computes a value. The copy of a kernel calls `on_value` of the observers at every
site, and reports the rounds of its loops.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import triton.language as tl

from flashlearn.interpreter.expression_reads import Reads

VALUE, LOOP_ROUND, LOOP_EXIT = "__flashlearn_value__", "__flashlearn_round__", "__flashlearn_exit__"
STORES = ("store", "atomic_add")


@dataclass(frozen=True)
class Site:
    """A statement that computes a value: `kind` is "assign", "load" (in an expression), "store", "atomic".

    `reads` are the names in its expression whose values it takes; those in `pointwise` meet the others entry
    by entry. It `sums` if it may sum along an axis inside, other than by `tl.dot`.
    """

    name: str
    kind: str
    line: int
    reads: tuple[str, ...]
    function: str = ""
    pointwise: tuple[str, ...] = ()
    sums: bool = False


@dataclass
class Instrumentation:
    """The sites of kernels, and their rewritten code: kept from run to run, so that sites keep numbers."""

    sites: list[Site] = field(default_factory=list)
    compiled: dict[CodeType, CodeType] = field(default_factory=dict)

    def annotate(self, definition: ast.FunctionDef) -> None:
        """Put the calls into a function's tree, which has the line numbers of its file."""
        definition.body = _Annotator(self.sites, definition.name).block(definition.body)

    def hooks(self, events: Any) -> dict[str, Callable]:
        """What the rewritten kernel calls, by name: `events` are the subscriptions of a session."""

        def on_value(index: int, value: Any) -> Any:
            if not isinstance(value, tl.tensor) or value.dtype.is_ptr():
                return value
            if getattr(value.handle, "pending", False):  # a product that has not been waited for
                return value
            site, frame = self.sites[index], sys._getframe(1)
            for publish in events.on_value:
                value = publish(site, frame, value)
            return value

        def on_loop_round(loop: int) -> None:
            for publish in events.on_loop_round:
                publish(loop)

        def on_loop_exit(loop: int) -> None:
            for publish in events.on_loop_exit:
                publish(loop)

        return {VALUE: on_value, LOOP_ROUND: on_loop_round, LOOP_EXIT: on_loop_exit}


class _Annotator(ast.NodeTransformer):
    """Wraps every value that is assigned, loaded inside an expression or stored; counts loop rounds."""

    def __init__(self, sites: list[Site], function: str):
        self.sites, self.function, self.loops = sites, function, 0

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements with their calls."""
        out: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            out += new if isinstance(new, list) else [new]
        return out

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node  # a function inside a kernel is left alone

    visit_AsyncFunctionDef = visit_Lambda = visit_ListComp = visit_GeneratorExp = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        reads = Reads.of(node.value)
        target = node.targets[0]
        node.value = self.within(node.value)
        if isinstance(target, ast.Name):
            node.value = self.report(target.id, "assign", node, reads, node.value)
            return node
        after = [
            ast.copy_location(
                ast.Assign([name], self.report(name.id, "assign", node, reads, _read(name))), node
            )
            for name in getattr(target, "elts", ())
            if isinstance(name, ast.Name)
        ]
        return [node, *after]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if not isinstance(node.target, ast.Name):
            return node
        old = _read(node.target)
        reads = Reads.of(ast.BinOp(old, node.op, node.value))
        total = ast.copy_location(ast.BinOp(old, node.op, self.within(node.value)), node)
        value = self.report(node.target.id, "assign", node, reads, total)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_For(self, node: ast.For | ast.While) -> list[ast.stmt]:
        self.loops += 1
        loop = len(self.sites) * 1000 + self.loops  # sites are shared by all functions of a call
        node.body = [self.call(LOOP_ROUND, node, loop), *self.block(node.body)]
        node.orelse = self.block(node.orelse)
        return [node, self.call(LOOP_EXIT, node, loop)]

    visit_While = visit_For

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in STORES and len(node.args) > 1:
            kind = "store" if name == "store" else "atomic"
            stored = node.args[1]
            node.args[1] = self.report(_title(stored), kind, node, Reads.of(stored), stored)
        elif name == "load" and node is not getattr(self, "outermost", None):
            return self.report("", "load", node, Reads.of(node), node)
        return node

    def within(self, value: ast.expr) -> ast.expr:
        """The expression of an assignment; a load that is all of it needs no report of its own."""
        self.outermost = value
        while _wraps(self.outermost):
            self.outermost = self.outermost.args[0]
        return self.visit(value)

    def report(self, name: str, kind: str, node: ast.AST, reads: Reads, value: ast.expr) -> ast.Call:
        self.sites.append(
            Site(name, kind, node.lineno, reads.all, self.function, reads.pointwise, reads.sums)
        )
        arguments = [ast.Constant(len(self.sites) - 1), value]
        return ast.copy_location(ast.Call(ast.Name(VALUE, ast.Load()), arguments, []), node)

    def call(self, name: str, node: ast.AST, loop: int) -> ast.stmt:
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(loop)], [])
        return ast.copy_location(ast.Expr(call), node)


def _wraps(node: ast.expr) -> bool:
    """True for the call that makes a tensor of whatever is assigned."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "to_tensor" and len(node.args) > 0


def _read(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)


def _title(node: ast.expr) -> str:
    """What to call a stored value: the one name in it, else nothing."""
    inner = node
    while isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "to":
        inner = inner.func.value
    return inner.id if isinstance(inner, ast.Name) else ""
