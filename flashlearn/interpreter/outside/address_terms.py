"""An address as its kernel writes it: a tensor's pointer plus indices, each times a stride.

>>> # x_ptr + rows[:, None] * x_row + columns: [rows · x_row, columns · 1]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import triton.language as tl

from flashlearn.interpreter.outside.kernel_source import (
    PASSED_ON,
    Definition,
    Scope,
    called,
    passed_on,
    reshaped,
)
from flashlearn.interpreter.shadow import Region
from flashlearn.interpreter.views import View

DEEPEST = 12


@dataclass(frozen=True)
class Term:
    """A summand of an address: the product of its factors, each with what reshapes it, times `times`.

    `origin` is the summand, as a number, of which it is a part; `line` the one where it is written. One that
    is `repeated` is added by each step of a loop, `times` times so far.
    """

    factors: tuple[ast.expr, ...]
    wraps: tuple[ast.expr, ...]
    scope: Scope
    line: int
    origin: int = 0
    times: int = 1
    repeated: bool = False

    def value(self, factors: tuple[ast.expr, ...] | None = None) -> np.ndarray | None:
        """The product of some of the factors, of all if none are given."""
        product = np.asarray(self.times if factors is None else 1)
        for factor in self.factors if factors is None else factors:
            numbers = self.scope.numbers(factor)
            for wrap in self.wraps:
                numbers = reshaped(numbers, wrap) if numbers is not None else None
            if numbers is None or numbers.dtype == bool:
                return None
            product = product * numbers
        return product


@dataclass(frozen=True)
class Address:
    """The terms of an address; those of a loop's steps are multiplied by how often they were added.

    `line` is the one in which the tensor's pointer occurs.
    """

    terms: tuple[Term, ...]
    line: int


def taken_apart(scope: Scope, region: Region, view: View, addresses: np.ndarray) -> Address | None:
    """The terms of the access under way, if they add up to its addresses."""
    node = next(iter(scope.call.args), None)
    if node is None:
        return None
    reader = _Reader(region, view)
    try:
        terms = list(reader.pointer(node, scope, (), node.lineno, 0))
    except _Unsure:
        return None
    item = view.itemsize
    bytes_in = addresses.astype(np.int64) - region.base
    if (bytes_in % item).any():
        return None
    left = bytes_in // item - view.offset
    steps = [term for term in terms if reader.repeated.get(id(term))]
    try:
        for term in terms:
            value = term.value()
            if value is None:
                return None
            if term not in steps:
                left = left - value
    except ValueError:
        return None
    if len(steps) > 1 or left.size == 0:
        return None
    rest = int(left.flat[0])
    if left.shape != addresses.shape or (left != rest).any() or (not steps and rest):
        return None
    if steps:
        step = steps[0].value()
        if step.ndim or not int(step) or rest % int(step):
            return None
        times = rest // int(step) * steps[0].times
        again = replace(steps[0], times=times, repeated=True)
        terms = [again if term is steps[0] else term for term in terms]
    ordered = [replace(term, origin=number) for number, term in enumerate(terms)]
    return Address(tuple(term for term in ordered if term.times), reader.line)


class _Unsure(Exception):
    """An address that is not a pointer plus terms, or not surely."""


class _Reader:
    """Follows a pointer back to the tensor argument that it starts from."""

    def __init__(self, region: Region, view: View):
        self.start = region.base + view.offset * view.itemsize
        self.view = view
        self.line = 0
        self.repeated: dict[int, bool] = {}
        self.kept: list[Term] = []

    def pointer(
        self, node: ast.expr, scope: Scope, wraps: tuple[ast.expr, ...], line: int, depth: int
    ) -> Iterator[Term]:
        """The terms that are added to the tensor's pointer in an expression that is a pointer."""
        if depth > DEEPEST:
            raise _Unsure
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            left_is_number = scope.numbers(node.left) is not None
            base, offset = (node.right, node.left) if left_is_number else (node.left, node.right)
            if left_is_number and isinstance(node.op, ast.Sub):
                raise _Unsure
            yield from self.pointer(base, scope, wraps, line, depth + 1)
            sign = -1 if isinstance(node.op, ast.Sub) else 1
            yield from summands(offset, scope, wraps, line, sign)
        elif isinstance(node, ast.Subscript):
            yield from self.pointer(node.value, scope, (node.slice, *wraps), line, depth + 1)
        elif isinstance(node, ast.Call) and called(node) in PASSED_ON:
            yield from self.pointer(passed_on(node), scope, wraps, line, depth + 1)
        elif isinstance(node, ast.Name):
            self.line = line
            yield from self.name(node.id, scope, wraps, depth)
        else:
            raise _Unsure

    def name(self, name: str, scope: Scope, wraps: tuple[ast.expr, ...], depth: int) -> Iterator[Term]:
        known = scope.definitions.get(name, [])
        first = [d for d in known if not d.adds]
        added = [d for d in known if d.adds]
        parameter = name in scope.parameters
        if any(d.value is None for d in known) or len(first) + parameter != 1:
            raise _Unsure
        if first:
            yield from self.pointer(first[0].value, scope, wraps, first[0].line, depth + 1)
        elif not self._is_start(name, scope, bool(added)):
            given = scope.argument(name)
            if given is None:
                raise _Unsure
            yield from self.pointer(given, scope.parent, wraps, given.lineno, depth + 1)
        for definition in added:
            yield from self._added(definition, scope, wraps)

    def _added(self, added: Definition, scope: Scope, wraps: tuple[ast.expr, ...]) -> Iterator[Term]:
        for term in summands(added.value, scope, wraps, added.line, added.sign):
            if added.in_loop:
                self.repeated[id(term)] = True
                self.kept.append(term)
            yield term

    def _is_start(self, name: str, scope: Scope, moved: bool) -> bool:
        """Whether a parameter, before anything was added to it, is the tensor's own pointer."""
        if moved:
            return scope.parent is None and name == self.view.name
        value = scope.values.get(name)
        if not isinstance(value, tl.tensor) or not value.dtype.is_ptr():
            raise _Unsure
        return not value.type.is_block() and int(np.asarray(value.handle.data).flat[0]) == self.start


def summands(
    node: ast.expr, scope: Scope, wraps: tuple[ast.expr, ...], line: int, sign: int = 1
) -> Iterator[Term]:
    """The terms of a sum of products."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from summands(node.left, scope, wraps, line, sign)
        yield from summands(node.right, scope, wraps, line, -sign if isinstance(node.op, ast.Sub) else sign)
    elif isinstance(node, ast.Subscript) and isinstance(plain(node.value), ast.BinOp):
        yield from summands(node.value, scope, (node.slice, *wraps), line, sign)
    elif isinstance(node, ast.Call) and called(node) in PASSED_ON:
        yield from summands(passed_on(node), scope, wraps, line, sign)
    else:
        yield Term(tuple(_factors(node)), wraps, scope, line, 0, sign)


def plain(node: ast.expr) -> ast.expr:
    """An expression without conversions and the like around it."""
    while isinstance(node, ast.Call) and called(node) in PASSED_ON:
        node = passed_on(node)
    return node


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    node = plain(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    else:
        yield node
