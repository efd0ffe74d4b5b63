"""What came back from a learner's function, brought into the shape of what was asked for.

Two spellings of one shape are welcome (a list of lists for a matrix, a tuple for a column, an int
for a number); anything else gets a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixExpr
from sympy.matrices.matrixbase import MatrixBase
from sympy.tensor.array.ndim_array import NDimArray

from flashlearn.judging.symbolic import formatting
from flashlearn.judging.symbolic.unreadable import SEQUENCES, Unreadable, reject_non_sympy, unexpected

ARRAYS = (MatrixBase, MatrixExpr, NDimArray)
MAPPINGS = (Mapping, sp.Dict)


@dataclass(frozen=True)
class Form:
    """An answer in a comparable shape: a scalar, a matrix, a symbolic matrix, or several by label."""

    value: Any = None
    parts: Mapping[Any, Form] = field(default_factory=dict)

    def leaves(self) -> Iterator[tuple[tuple, sp.Basic]]:
        """Each expression or matrix with its label, `()` for the only one."""
        if not self.parts:
            yield (), self.value
        for key, part in self.parts.items():
            for label, leaf in part.leaves():
                yield (key, *label), leaf

    def expressions(self) -> list[sp.Basic]:
        """All expressions and matrices, matrices entry by entry where they are explicit."""
        leaves = (leaf for _, leaf in self.leaves())
        return [e for leaf in leaves for e in (leaf if isinstance(leaf, MatrixBase) else [leaf])]

    def map(self, change: Callable[[Any], Any]) -> Form:
        """The form with every leaf changed."""
        if self.parts:
            return Form(parts={key: part.map(change) for key, part in self.parts.items()})
        return Form(change(self.value))

    def plain(self) -> Any:
        """The value as one would write it: tuples and dictionaries of expressions and matrices."""
        if not self.parts:
            return self.value
        items = {key: part.plain() for key, part in self.parts.items()}
        return tuple(items.values()) if all(isinstance(key, int) for key in items) else items


def read(expected: Any, got: Any) -> Form:
    """The answer in the expected value's shape; raises Unreadable with a sentence."""
    reject_non_sympy(got, expected)
    if isinstance(expected, sp.Lambda):
        return _lambda(expected, got)
    if isinstance(got, sp.Lambda):
        names = ", ".join(str(v) for v in got.variables)
        advice = ": return its body, an expression of your function's arguments."
        raise unexpected(f"a Lambda of ({names})", f"{formatting.kind(expected)} is", advice, core=got.expr)
    if isinstance(expected, MAPPINGS):
        return _mapping(expected, got)
    if isinstance(expected, SEQUENCES):
        return _sequence(expected, got)
    if isinstance(expected, MatrixBase):
        return Form(_matrix(expected.shape, got))
    if isinstance(expected, MatrixExpr):
        return Form(_symbolic_matrix(expected.shape, got))
    return Form(_scalar(expected, got))


def _lambda(expected: sp.Lambda, got: Any) -> Form:
    names = ", ".join(str(v) for v in expected.variables)
    if not isinstance(got, sp.Lambda):
        raise unexpected(got, f"a function of ({names}) is", f": return sp.Lambda(({names}), …).", core=None)
    count, wanted = len(got.variables), len(expected.variables)
    if count != wanted:
        text = f"your Lambda takes {formatting.count(count, 'argument')}; it should take {wanted}, ({names})."
        raise Unreadable(text, "wrong shape")
    return read(expected.expr, got(*expected.variables))


def _scalar(expected: Any, got: Any) -> sp.Basic:
    """One expression."""
    if isinstance(got, NDimArray) and got.rank() == 0:
        got = got[()]
    if isinstance(got, sp.Poly):
        got = got.as_expr()
    wanted = "one expression is"
    if isinstance(got, ARRAYS) and tuple(got.shape) == (1, 1):
        raise unexpected(got, wanted, ": take its only entry with [0, 0].", "wrong shape", got[0, 0])
    if isinstance(got, SEQUENCES) and len(got) == 1:
        advice = ": return the item itself (a comma at the end of a line makes a tuple)."
        raise unexpected(got, wanted, advice, "wrong shape", got[0])
    if isinstance(got, (*SEQUENCES, *ARRAYS, *MAPPINGS)):
        raise unexpected(got, wanted, rule="wrong shape")
    if isinstance(got, float) and not sp.sympify(expected).is_number:
        raise unexpected(got, "an expression of the arguments is")
    return sp.sympify(got)


def _entry(got: Any, where: str) -> sp.Expr:
    """One entry of a matrix, with the place named if it is no expression."""
    return _part(sp.Symbol("x"), sp.Float(got) if isinstance(got, float) else got, where).value


def _part(expected: Any, got: Any, where: str) -> Form:
    try:
        return read(expected, got)
    except Unreadable as error:
        raise error.inside(where) from None


def _matrix(wanted: tuple[int, int], got: Any) -> MatrixBase | MatrixExpr:
    """An explicit matrix of the wanted shape."""
    asked = f"{formatting.matrix(wanted)} is"
    if isinstance(got, NDimArray):
        if got.rank() > 2:
            advice = (
                ". Derivatives by arrays and by column matrices keep every axis of both: use Matrix.jacobian."
            )
            raise unexpected(got, asked, advice, "wrong shape")
        got = got.tolist()
    if isinstance(got, SEQUENCES):
        got = _from_rows(list(got), wanted, asked)
    return _fitting(got, wanted, asked)


def _symbolic_matrix(wanted: tuple, got: Any) -> MatrixBase | MatrixExpr:
    """A matrix whose size may be symbolic."""
    if all(getattr(size, "is_Integer", False) for size in wanted):
        return _matrix((int(wanted[0]), int(wanted[1])), got)
    return _fitting(got, wanted, f"{formatting.matrix(wanted)} is")


def _fitting(got: Any, wanted: tuple, asked: str) -> MatrixBase | MatrixExpr:
    """The matrix if its shape is the wanted one."""
    if isinstance(got, (MatrixBase, MatrixExpr)):
        if _same_shape(got.shape, wanted):
            return _checked(got) if isinstance(got, MatrixBase) else got
        if _same_shape(got.shape, wanted[::-1]):
            raise unexpected(got, asked, rule="transposed", core=got.T)
    raise unexpected(got, asked, rule="wrong shape")


def _checked(matrix: MatrixBase) -> MatrixBase:
    """The matrix, immutable, if all its entries are expressions (sympy lets truth values in)."""
    for i in range(matrix.rows):
        for j in range(matrix.cols):
            if not isinstance(matrix[i, j], sp.Expr):
                _entry(matrix[i, j], f"entry ({i}, {j})")
    return sp.ImmutableMatrix(matrix)


def _same_shape(a: tuple, b: tuple) -> bool:
    """Shapes by the names of their sizes: assumptions are compared elsewhere."""
    return all(x == y or str(x) == str(y) or sp.simplify(x - y) == 0 for x, y in zip(a, b, strict=True))


def _from_rows(items: list, wanted: tuple[int, int], asked: str) -> MatrixBase:
    """A matrix from a list of rows, or from a flat list where a row or a column is wanted."""
    rows, columns = wanted
    nested = [isinstance(item, (*SEQUENCES, MatrixBase)) for item in items]
    if not items or (any(nested) and not all(nested)):
        raise unexpected("a list of rows and single entries" if items else items, asked, rule="wrong shape")
    if not any(nested):
        if 1 in wanted and len(items) == rows * columns:
            return sp.ImmutableMatrix(rows, columns, [_entry(x, f"entry {i}") for i, x in enumerate(items)])
        advice = f": a list of {formatting.count(rows, 'row')}."
        raise unexpected(
            f"a flat list of {formatting.count(len(items), 'entry')}", asked, advice, "wrong shape"
        )
    lengths = sorted({len(item) for item in items})
    if len(lengths) > 1:
        found = f"a list with rows of {lengths[0]} and of {lengths[-1]} entries"
        raise unexpected(found, asked, rule="wrong shape")
    table = [[_entry(x, f"entry ({i}, {j})") for j, x in enumerate(row)] for i, row in enumerate(items)]
    return sp.ImmutableMatrix(table)


def _sequence(expected: Any, got: Any) -> Form:
    scalars = not any(isinstance(e, (*SEQUENCES, *ARRAYS, *MAPPINGS)) for e in expected)
    if isinstance(got, NDimArray):
        got = got.tolist()
    elif isinstance(got, MatrixBase) and scalars and 1 in got.shape:
        got = list(got)  # a vector given as a tuple may come back as a column or a row
    if not isinstance(got, SEQUENCES) or len(got) != len(expected):
        raise unexpected(got, f"a tuple of {formatting.count(len(expected), 'item')} is", rule="wrong shape")
    pairs = enumerate(zip(expected, got, strict=True))
    return Form(parts={i: _part(e, g, f"item {i}") for i, (e, g) in pairs})


def _mapping(expected: Mapping, got: Any) -> Form:
    keys = [str(key) for key in expected]
    if not isinstance(got, MAPPINGS):
        raise unexpected(got, f"a dictionary with the keys {formatting.listed(keys)} is", rule="wrong shape")
    named = {str(key): value for key, value in got.items()}
    missing, surplus = [k for k in keys if k not in named], [k for k in named if k not in keys]
    if missing or surplus:
        parts = [f"lacks {formatting.listed(missing)}"] if missing else []
        parts += (
            [f"has the extra {'key' if len(surplus) == 1 else 'keys'} {formatting.listed(surplus)}"]
            if surplus
            else []
        )
        raise Unreadable(f"your dictionary {' and '.join(parts)}.", "wrong shape")
    return Form(
        parts={k: _part(e, named[k], f"key {k}") for k, e in zip(keys, expected.values(), strict=True)}
    )
