"""What each symbol of two answers is: a size, an index, a value, and which symbols are in an exponential.

Where a quantity is in an exponential it is given the logarithm of a rational, so that the
exponential is rational too and every comparison exact. If an exponent is a product (alpha times a
dot product), one factor gets the logarithm and the others integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sympy as sp
from sympy.functions.elementary.hyperbolic import HyperbolicFunction
from sympy.matrices.expressions.matexpr import MatrixElement, MatrixExpr
from sympy.tensor.indexed import Idx, Indexed, IndexedBase

from flashlearn.judging.symbolic.symbols import arrays, flatten, symbols

REGIONS = (sp.Max, sp.Min, sp.Piecewise, sp.Heaviside, sp.Abs, sp.sign, sp.floor, sp.ceiling)
Expressions = list[sp.Basic]


@dataclass(frozen=True)
class Plan:
    """How values are to be drawn.

    `family` groups symbols by the argument that holds them (an array is its own family);
    `exponents` and `positive` are families that occur in exponentials, and under a logarithm or a
    root; `logarithm` maps a family to the power that its logarithms take (1, or 2 for squares, whose
    halves are rational as well). `regions` says that the expressions have pieces, so that more draws
    are needed to visit them.
    """

    sizes: tuple[sp.Basic, ...]
    indices: tuple[sp.Basic, ...]
    values: tuple[sp.Basic, ...]
    family: Mapping[Any, str]
    ranges: Mapping[sp.Basic, tuple[Any, Any]]
    exponents: frozenset[str] = frozenset()
    positive: frozenset[str] = frozenset()
    regions: bool = False
    logarithm: Mapping[str, int] = field(default_factory=dict)

    @property
    def constant(self) -> bool:
        """Whether there is nothing to draw: the answers are numbers."""
        return not (self.family or self.sizes or self.indices)

    def styles(self) -> Iterator[Mapping[str, int]]:
        """Ways to choose logarithms for the arguments of exponentials, best first."""
        names = sorted(self.exponents)
        if names:
            yield dict.fromkeys(names, 1)
            yield dict.fromkeys(names, 2)
            if len(names) > 1:
                for name in names:
                    yield {name: 1}
        yield {}


def plan(expressions: Expressions, given: Mapping[str, Any]) -> Plan:
    """Read off from the expressions what each of their symbols is."""
    every = symbols(expressions)
    sizes = _sizes(expressions)
    ranges = _ranges(expressions, every - sizes)
    family, order = _families(given, every, arrays(expressions))
    values = sorted(every - sizes - ranges.keys(), key=lambda s: (order.get(s, (len(order), 0)), str(s)))
    return Plan(
        sizes=tuple(sorted(sizes, key=str)),
        indices=tuple(sorted(ranges, key=str)),
        values=tuple(values),
        family=family,
        ranges=ranges,
        exponents=_inside(expressions, family, _exponent),
        positive=_inside(expressions, family, _must_be_positive),
        regions=any(e.has(*REGIONS) for e in expressions),
    )


def choose(draft: Plan, roughness: Callable[[Plan], int]) -> Plan:
    """The plan with the style of logarithms under which most values are rational."""
    best, least = draft, None
    for style in draft.styles():
        candidate = replace(draft, logarithm=style)
        rough = roughness(candidate)
        if least is None or rough < least:
            best, least = candidate, rough
        if rough == 0:
            break
    return best


def _loops(expressions: Expressions) -> list[tuple[sp.Basic, sp.Basic, tuple[Any, Any]]]:
    """Each sum's or product's body, index and limits."""
    return [
        (loop.function, limit[0], (limit[1], limit[2]))
        for e in expressions
        for loop in sorted(e.atoms(sp.Sum, sp.Product), key=str)
        for limit in loop.limits
        if len(limit) == 3
    ]


def _sizes(expressions: Expressions) -> set[sp.Basic]:
    """Symbols that say how large something is."""
    loops = _loops(expressions)
    bounds: list[Any] = [bound for _, _, pair in loops for bound in pair]
    for e in expressions:
        bounds += [size for sized in e.atoms(MatrixExpr) for size in sized.shape]
        bounds += [size for base in e.atoms(IndexedBase) for size in base.shape or ()]
        bounds += [bound for index in e.atoms(Idx) for bound in (index.lower, index.upper)]
    inside = symbols([bound for bound in bounds if isinstance(bound, sp.Basic)])
    return {s for s in inside if not isinstance(s, Idx)} - {index for _, index, _ in loops}


def _slots(e: sp.Basic) -> Iterator[tuple[tuple[str, int], sp.Basic, tuple[Any, Any] | None]]:
    """The places for an index: the array and its axis, the index there, its range if it is declared."""
    for node in e.atoms(Indexed, MatrixElement, sp.KroneckerDelta):
        if isinstance(node, sp.KroneckerDelta):
            for index in node.args[:2]:
                yield ("δ", 0), index, None
        elif isinstance(node, MatrixElement):
            for axis, index in enumerate(node.indices):
                yield (str(node.parent), axis), index, (sp.S.Zero, node.parent.shape[axis] - 1)
        else:
            for axis, index in enumerate(node.indices):
                yield (str(node.base.label), axis), index, None


def _ranges(expressions: Expressions, free: set[sp.Basic]) -> dict[sp.Basic, tuple[Any, Any]]:
    """The free indices and from where to where they run: as the sums over the same axis do."""
    loops = _loops(expressions)
    axes: dict[tuple[str, int], tuple[Any, Any]] = {}
    for body, variable, limits in loops:
        for slot, index, _ in _slots(body):
            if index == variable:
                axes.setdefault(slot, limits)
    usual = loops[0][2] if loops else (sp.S.Zero, sp.Integer(2))
    found: dict[sp.Basic, tuple[Any, Any]] = {}
    certain: set[sp.Basic] = set()
    for e in expressions:
        for slot, index, declared in _slots(e):
            known = declared or axes.get(slot)
            for symbol in symbols([index]) & free if isinstance(index, sp.Basic) else ():
                if known is not None and symbol not in certain:
                    found[symbol] = known
                    certain.add(symbol)
                found.setdefault(symbol, usual)
    for symbol in free:
        if isinstance(symbol, Idx):
            bounded = symbol.upper is not None
            found[symbol] = (symbol.lower, symbol.upper) if bounded else found.get(symbol, usual)
    return found


def _families(given: Mapping[str, Any], every: set, named: Mapping[str, Any]) -> tuple[dict, dict]:
    """The family of each symbol and array, and the order in which arguments hold them."""
    family: dict[Any, str] = {name: name for name in named}
    order: dict[Any, tuple[int, int]] = {}
    for place, (parameter, value) in enumerate(given.items()):
        for k, leaf in enumerate(flatten(value)):
            if leaf in every and leaf not in family:
                family[leaf], order[leaf] = parameter, (place, k)
    for symbol in every:
        family.setdefault(symbol, str(symbol))
    return family, order


def _inside(expressions: list[sp.Basic], family: Mapping, held) -> frozenset[str]:
    """Families that occur in the part of a function or a power that `held` selects."""
    parts = [part for e in expressions for node in e.atoms(sp.Function, sp.Pow) for part in held(node)]
    found = {family[s] for s in symbols(parts) if s in family and not s.is_integer}
    return frozenset(found | (arrays(parts).keys() & set(family)))


def _exponent(node: sp.Basic) -> tuple[sp.Basic, ...]:
    if isinstance(node, sp.Pow):
        return () if node.exp.is_number else (node.exp,)
    return node.args if isinstance(node, (sp.exp, HyperbolicFunction)) else ()


def _must_be_positive(node: sp.Basic) -> tuple[sp.Basic, ...]:
    """The argument of a logarithm or the radicand of a root."""
    if isinstance(node, sp.Pow):
        return () if node.exp.is_Integer else (node.base,)
    return node.args if isinstance(node, sp.log) else ()
