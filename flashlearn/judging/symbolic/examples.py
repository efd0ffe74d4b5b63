"""The smallest example of a wrong answer: at which point, which entry, what it is and what it should be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.matrices.matrixbase import MatrixBase

from flashlearn.judging.symbolic import formatting
from flashlearn.judging.symbolic.comparison import Cells, Sample
from flashlearn.judging.symbolic.evaluation import Evaluator, Point
from flashlearn.judging.symbolic.exact_numbers import Undefined, tidy
from flashlearn.judging.symbolic.symbols import arrays, flatten, symbols

MAX_POINT_LENGTH = 120
MAX_TABLE_ENTRIES = 64


@dataclass(frozen=True)
class Counterexample:
    """One entry at one point: `label` is its place, `entry` what it is called (empty for the only one).

    `substitutions` are sympy's own: `expression.subs(substitutions)`.
    """

    where: str
    label: tuple
    entry: str
    got: sp.Expr
    expected: sp.Expr
    substitutions: Mapping[sp.Basic, sp.Basic]

    @property
    def long(self) -> bool:
        """Whether the point is too long for a sentence."""
        return len(self.where) > MAX_POINT_LENGTH

    @property
    def sentence(self) -> str:
        """at s = (0, log 2), entry (0, 1) is 2/9, but it should be −2/9"""
        whose = self.entry or ("your answer" if self.where else "it")
        where = "at the point below, " if self.long else f"at {self.where}, " if self.where else ""
        got, expected = formatting.show(self.got), formatting.show(self.expected)
        return f"{where}{whose} is {got}, but it should be {expected}"


def simplest(samples: list[Sample]) -> Sample:
    """The sample with the smallest numbers among those that differ."""
    return min((s for s in samples if s.wrong), key=_cost)


def counterexample(sample: Sample, expressions: list, given: Mapping[str, Any]) -> Counterexample:
    """The simplest of the sample's wrong entries."""
    label = min(sample.wrong, key=lambda name: _length(sample, name))
    return Counterexample(
        where=where(sample.point, expressions, given),
        label=label,
        entry=formatting.entry(label, sample.got) if len(sample.got) > 1 else "",
        got=tidy(sample.got[label]),
        expected=tidy(sample.expected[label]),
        substitutions=substitutions(sample.point, expressions),
    )


def detail(sample: Sample, example: Counterexample) -> str:
    """Both matrices at the point; the point alone if the sentence had no room for it."""
    tables = [_table(cells) for cells in (sample.got, sample.expected)]
    if all(tables):
        head = f"at {example.where}\n" if example.where else ""
        return f"{head}  yours:\n{tables[0]}\n  right:\n{tables[1]}"
    return f"at {example.where}" if example.long else ""


def _table(cells: Cells) -> str:
    """The lines of a matrix; empty if the cells are not a matrix, or too many."""
    if not formatting.is_matrix(cells) or not 1 < len(cells) <= MAX_TABLE_ENTRIES:
        return ""
    rows, columns = (1 + max(label[axis] for label in cells) for axis in (0, 1))
    if len(cells) != rows * columns:
        return ""
    return formatting.table(sp.Matrix(rows, columns, lambda i, j: tidy(cells[int(i), int(j)])))


def _length(sample: Sample, label: tuple) -> int:
    return len(formatting.show(sample.got[label])) + len(formatting.show(sample.expected[label]))


def _cost(sample: Sample) -> int:
    """Complexity for a reader: short numbers are simple, equal ones cannot be told apart."""
    symbols, entries = (
        [formatting.show(v) for v in d.values()] for d in (sample.point.symbols, sample.point.entries)
    )
    digits = 2 * min(_length(sample, label) for label in sample.wrong) + sum(map(len, symbols + entries))
    return digits + 6 * (len(symbols) - len(set(symbols)))


def where(point: Point, expressions: list, given: Mapping[str, Any]) -> str:
    """The point by arguments: `s = (0, log 2)`, `N = 2, s[1…2] = (0, log 2)`; empty if there are none."""
    parts, shown_symbols = [], set()
    used, named = symbols(expressions), arrays(expressions)
    for parameter, value in given.items():
        inside = symbols(flatten(value))
        if isinstance(value, (sp.IndexedBase, sp.MatrixSymbol)) or (
            inside and not inside & (used - shown_symbols)
        ):
            continue
        if isinstance(value, (tuple, list, sp.Tuple, MatrixBase)):
            leaves = [_value(leaf, point) for leaf in flatten(value)]
            shown = (
                sp.ImmutableMatrix(*value.shape, leaves) if isinstance(value, MatrixBase) else tuple(leaves)
            )
        elif isinstance(value, sp.Expr):
            shown = _value(value, point)
        else:
            continue
        parts.append(f"{parameter} = {formatting.show(shown)}")
        shown_symbols |= inside
    for symbol in sorted(used - shown_symbols, key=str):
        if symbol in point.symbols:
            parts.append(f"{symbol} = {formatting.show(point.symbols[symbol])}")
    for name, array in sorted(named.items()):
        if isinstance(array, sp.MatrixSymbol):
            parts.append(f"{name} = {formatting.show(_value(array, point))}")
        else:
            entries = {index: value for (other, index), value in point.entries.items() if other == name}
            parts += _entries(name, entries, "[]" if isinstance(array, sp.IndexedBase) else "()")
    return ", ".join(parts)


def _entries(name: str, entries: Mapping[tuple, sp.Expr], brackets: str) -> list[str]:
    """`s[1…3] = (0, log 2, log 3)` where the entries fill a range, else one by one."""
    before, after = brackets
    axes = [sorted(set(axis), key=lambda i: (str(type(i)), i)) for axis in zip(*entries, strict=True)]
    whole = all(isinstance(i, int) for axis in axes for i in axis)
    if whole and len(axes) in (1, 2) and len(entries) > 1 and math.prod(map(len, axes)) == len(entries):
        runs = [f"{axis[0]}…{axis[-1]}" if len(axis) > 1 else f"{axis[0]}" for axis in axes]
        if all(axis == list(range(axis[0], axis[-1] + 1)) for axis in axes):
            rows = [tuple(entries[i, j] for j in axes[1]) for i in axes[0]] if len(axes) == 2 else None
            value = [entries[(i,)] for i in axes[0]] if rows is None else sp.Matrix(rows)
            return [f"{name}{before}{', '.join(runs)}{after} = {formatting.show(value)}"]
    each = sorted(entries.items(), key=lambda item: str(item[0]))
    return [f"{name}{before}{', '.join(map(str, index))}{after} = {formatting.show(v)}" for index, v in each]


def _value(expression: Any, point: Point) -> Any:
    """The value; what has none, such as an entry that neither answer reads, stays as it is."""
    try:
        return Evaluator(point)(expression)
    except Undefined:
        return expression


def substitutions(point: Point, expressions: list) -> dict[sp.Basic, sp.Basic]:
    """The point as a dictionary for sympy's `subs` (entries of arrays come after `doit`)."""
    found: dict[sp.Basic, sp.Basic] = {s: v for s, v in point.symbols.items() if s in symbols(expressions)}
    for array in arrays(expressions).values():
        if isinstance(array, sp.IndexedBase):
            found |= {array[i]: v for (name, i), v in point.entries.items() if name == str(array.label)}
        elif isinstance(array, sp.MatrixSymbol):
            found[array] = _value(array, point)
    return found
