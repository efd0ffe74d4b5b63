"""Which term of an address is which index of the tensor: the one that is multiplied by its stride."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flashlearn.interpreter.outside.address_terms import Term, summands
from flashlearn.interpreter.outside.kernel_source import called
from flashlearn.interpreter.views import View

MOST_CHOICES = 2000
DEEPEST = 3


@dataclass(frozen=True)
class Part:
    """A term as an index times a stride: `dim` is the dimension with this stride, None if there is none."""

    term: Term
    index: tuple[ast.expr, ...]
    stride: tuple[ast.expr, ...]
    dim: int | None

    @property
    def numbers(self) -> np.ndarray:
        """The index of each lane."""
        return self.term.value(self.index) * self.term.times

    @property
    def text(self) -> str:
        """The index as it is written."""
        if not self.index:
            return f"{abs(self.term.times)} steps of the loop"
        parts = [ast.unparse(bare(one)) for one in self.index]
        product = " * ".join(f"({one})" if len(parts) > 1 and " " in one else one for one in parts)
        return product if self.term.times > 0 else f"-{product}"

    @property
    def stride_text(self) -> str:
        """The stride as it is written; empty where there is none."""
        return " * ".join(ast.unparse(one) for one in self.stride)


@dataclass(frozen=True)
class Index:
    """All that moves an address along one dimension; `size` counts the dimensions merged into it too."""

    dim: int
    size: int
    parts: tuple[Part, ...]

    @property
    def numbers(self) -> np.ndarray:
        """The index of each lane."""
        return sum((part.numbers for part in self.parts[1:]), self.parts[0].numbers)

    @property
    def text(self) -> str:
        """The index as it is written."""
        return " + ".join(part.text for part in self.parts).replace("+ -", "- ")

    @property
    def scalar(self) -> bool:
        """Whether all lanes have the same."""
        return self.numbers.size == 1


def parts_of(terms: Sequence[Term], view: View) -> list[Part] | None:
    """The terms as indices times strides, each with a dimension of its own as far as that can be."""
    spread = [one for term in terms for one in _spread(term, view, DEEPEST)]
    choices = [list(_choices(term, view)) for term in spread]
    if math.prod(map(len, choices)) > MOST_CHOICES:
        return None
    likeliest = min(itertools.product(*choices), key=lambda some: _unlikely(some, view), default=())
    return list(likeliest) or None


def indices_of(parts: Sequence[Part], view: View) -> list[Index]:
    """The indices that an address has, one for each dimension by whose stride it moves."""
    used = {part.dim for part in parts if part.dim is not None}
    return [
        Index(d, merged_size(view, d, used), tuple(part for part in parts if part.dim == d))
        for d in sorted(used)
    ]


def merged_size(view: View, dim: int, used: set[int]) -> int:
    """How many values an index has along a dimension that may stand for those before it as well."""
    size, reach = view.shape[dim], view.strides[dim] * view.shape[dim]
    for d in sorted(set(range(len(view.shape))) - {dim}, key=lambda d: view.strides[d]):
        if d in used and view.shape[d] > 1 and view.strides[d] >= reach:
            break
        if d not in used and view.strides[d] == reach:
            size, reach = size * view.shape[d], reach * view.shape[d]
    return size


def _choices(term: Term, view: View) -> Iterator[Part]:
    """The ways to see an index and a stride in a term, those with the largest stride first."""
    scalars = [f for f in term.factors if _size(term, f) == 1]
    found = []
    for count in range(len(scalars) + 1):
        for stride in itertools.combinations(scalars, count):
            index = tuple(f for f in term.factors if all(f is not s for s in stride))
            step = int(np.asarray(term.value(stride)).flat[0]) if stride else 1
            if _exchanged(term, index, stride):
                continue
            if (index or term.repeated) and not _has_other_stride(term, index, view):
                dims = [d for d, n in enumerate(view.strides) if n == step and view.shape[d] > 0]
                found += [(step, Part(term, index, stride, d)) for d in dims]
    found.sort(key=lambda one: (-one[0], -len(one[1].stride)))
    if found:
        yield from (part for _, part in found)
    else:
        yield _without_dimension(term, scalars)


def _exchanged(term: Term, index: tuple[ast.expr, ...], stride: tuple[ast.expr, ...]) -> bool:
    """Whether an argument would be the index, and what the kernel computes part of its stride."""
    given = {f for f in term.factors if _is_given(f, term)}
    return bool(index and stride) and given.issuperset(index) and not given.issuperset(stride)


def _is_given(factor: ast.expr, term: Term) -> bool:
    """Whether it is an argument, or a count of blocks made of arguments alone: the same in every program."""
    if isinstance(factor, ast.Name):
        definition = term.scope.only_value(factor.id)
        if definition is None or not isinstance(definition.value, ast.Call):
            return factor.id in term.scope.runtime_parameters
        factor = definition.value
    if not isinstance(factor, ast.Call) or called(factor) not in ("cdiv", "num_programs"):
        return False
    names = {one.id for argument in factor.args for one in ast.walk(argument) if isinstance(one, ast.Name)}
    return names <= set(term.scope.parameters)


def _has_other_stride(term: Term, index: tuple[ast.expr, ...], view: View) -> bool:
    """Whether what is left as an index is still multiplied by an argument, which then is a stride too."""
    if len(index) < 2 or len(view.shape) < 2:
        return False
    arguments = [f for f in index if isinstance(f, ast.Name) and f.id in term.scope.runtime_parameters]
    return any(_size(term, f) == 1 and int(term.value((f,)).flat[0]) > 1 for f in arguments)


def _without_dimension(term: Term, scalars: list[ast.expr]) -> Part:
    """A term whose stride is none of the tensor's: the arguments in it are taken for the stride."""
    names = term.scope.runtime_parameters
    stride = tuple(f for f in scalars if isinstance(f, ast.Name) and f.id in names) or tuple(scalars[1:])
    index = tuple(f for f in term.factors if all(f is not s for s in stride))
    return Part(term, index, stride, None) if index else Part(term, term.factors, (), None)


def _size(term: Term, factor: ast.expr) -> int:
    value = term.value((factor,))
    return 0 if value is None else value.size


def _unlikely(parts: Sequence[Part], view: View) -> tuple[int, int]:
    """How many indices share a dimension, and how far those of all lanes together exceed their dimensions."""
    dims = [(part.dim, part.term.origin) for part in parts if part.dim is not None]
    beyond = 0
    for part in parts:
        if part.dim is not None and part.numbers.size == 1:
            beyond += max(0, int(part.numbers.flat[0]) - view.shape[part.dim] + 1)
    return len(set(dims)) - len({d for d, _ in dims}), beyond


def _spread(term: Term, view: View, depth: int) -> list[Term]:
    """A term in which a sum hides that has a part with another stride: `(head * rows + i) * D`."""
    if depth == 0:
        return [term]
    strides = [n for n in view.strides if n > 0]
    for number, factor in enumerate(term.factors):
        inner = list(_sum_of(term, factor))
        others = (*term.factors[:number], *term.factors[number + 1 :])
        if not inner or _is_index(term, factor, others, view):
            continue
        if not _moves_elsewhere(term, inner, others, factor, strides):
            continue
        split = [
            replace(
                term,
                factors=(*one.factors, *others),
                wraps=(*one.wraps, *term.wraps),
                line=one.line,
                origin=term.origin * 10 + k,
                times=term.times * one.times,
            )
            for k, one in enumerate(inner)
        ]
        if all(one.value() is not None for one in split):
            return [part for one in split for part in _spread(one, view, depth - 1)]
    return [term]


def _is_index(term: Term, factor: ast.expr, others: tuple[ast.expr, ...], view: View) -> bool:
    """Whether one number is inside the dimension that it moves along: `h = bh - bh // H * H` is a head."""
    value = term.value((factor,))
    if value is None or value.size != 1 or any(_size(term, f) != 1 for f in others):
        return False
    step = math.prod(int(term.value((f,)).flat[0]) for f in others)
    sizes = [size for n, size in zip(view.strides, view.shape, strict=True) if n == step]
    return bool(sizes) and 0 <= int(value.flat[0]) < max(sizes)


def _sum_of(term: Term, factor: ast.expr) -> Iterator[Term]:
    """The summands of a factor, written there or where its name gets its value; none if it is no sum."""
    node, line = bare(factor), term.line
    if isinstance(node, ast.Name):
        definition = term.scope.only_value(node.id)
        before, now = term.scope.numbers(node), term.scope.numbers(definition.value) if definition else None
        if now is None or before is None or not np.array_equal(before, now):
            return
        node, line = definition.value, definition.line
    inner = list(summands(node, term.scope, (), line))
    if len(inner) > 1 or (len(term.factors) == 1 and len(inner[0].factors) > 1):
        yield from inner


def _moves_elsewhere(
    term: Term, inner: list[Term], others: tuple[ast.expr, ...], factor: ast.expr, strides: Sequence[int]
) -> bool:
    """Whether a summand has a factor that makes another stride of the tensor with the other factors."""
    value = term.scope.numbers(factor)
    blocks = set() if value is not None and value.ndim > 1 else _block_sizes(term)
    outer = [f for f in others if _size(term, f) == 1]
    outer_step = math.prod(int(np.asarray(term.value((f,))).flat[0]) for f in outer)
    for one in inner:
        scalars = [f for f in one.factors if _size(one, f) == 1 and ast.unparse(f) not in blocks]
        for count in range(1, len(scalars) + 1):
            for some in itertools.combinations(scalars, count):
                if len(some) == len(one.factors):
                    continue
                step = math.prod(int(np.asarray(one.value((f,))).flat[0]) for f in some) * outer_step
                if step in strides and step != outer_step:
                    return True
    return False


def _block_sizes(term: Term) -> set[str]:
    """What `tl.arange` counts to, as it is written: the sizes of blocks."""
    calls = (node for node in ast.walk(term.scope.tree) if isinstance(node, ast.Call))
    return {ast.unparse(c.args[1]) for c in calls if called(c) == "arange" and len(c.args) > 1}


def bare(node: ast.expr) -> ast.expr:
    """An expression without `[:, None]` around it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
