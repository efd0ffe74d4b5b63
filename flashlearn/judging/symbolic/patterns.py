"""What a wrong answer has to do with the right one: which entries, the sign, a factor, the transpose.

A pattern is named only if it holds of every sample, and the samples hold enough different numbers
for that to be no accident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from flashlearn.judging.symbolic import formatting
from flashlearn.judging.symbolic.comparison import Sample
from flashlearn.judging.symbolic.exact_numbers import same, simple_rational, tidy
from flashlearn.judging.symbolic.sampling_plan import Plan

MIN_NUMBERS = 3
CONSTANT, SYMBOL = "constant factor", "factor"
"""Names of the patterns of a factor: a number, and an argument."""

RANGE = "index range"
"""The name of the pattern of entries outside the right answer's range."""

Pairs = list[tuple[sp.Expr, sp.Expr]]


@dataclass(frozen=True)
class Subject:
    """Which entries are wrong, by `kind`.

    "answer", "only entry", "every entry" and "every item" are all there are; "diagonal", "off diagonal",
    "above" and "below" it are; a "row" or "column" with its `number` is, `whole` or in part; or `count` of
    `total` entries, "some". `names` are entries called by name, and `others` how many are right beside them.
    """

    kind: str
    number: int = 0
    whole: bool = True
    count: int = 0
    total: int = 0
    names: tuple[str, ...] = ()
    others: int = 0

    @property
    def everything(self) -> bool:
        """Whether all there is, is wrong."""
        return self.kind in ("answer", "only entry", "every entry", "every item")


@dataclass(frozen=True)
class Pattern:
    """Something that holds of the error at every point tried: its name and its facts.

    It is put into words by flashlearn.judging.symbolic.clauses. `ratio` is a constant factor's number.
    """

    name: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    ratio: sp.Expr | None = None


def wrong_labels(samples: Sequence[Sample]) -> set[tuple]:
    """The labels that differ in some sample."""
    return set().union(*(s.wrong for s in samples))


def subject(samples: Sequence[Sample]) -> Subject:
    """Which entries are wrong: all of them, the diagonal, a row, entry (0, 1), …"""
    labels = set().union(*(s.got.keys() for s in samples))
    wrong = wrong_labels(samples)
    if len(labels) == 1:
        return Subject("answer" if labels == {()} else "only entry")
    matrix = formatting.is_matrix(labels)
    if wrong == labels:
        return Subject("every entry" if matrix else "every item")
    square = matrix and all(_square(s) for s in samples)
    return (_region(labels, wrong, square) if matrix else None) or _enumerated(labels, wrong)


def _region(labels: set, wrong: set, square: bool) -> Subject | None:
    """A diagonal, a triangle, a row or a column."""
    rows, columns = (1 + max(label[axis] for label in labels) for axis in (0, 1))
    diagonal = {(i, j) for i, j in labels if i == j}
    if square and wrong == diagonal:
        return Subject("diagonal")
    if square and wrong == labels - diagonal:
        return Subject("off diagonal")
    if 1 in (rows, columns) or len(wrong) == 1:
        return None
    for axis, noun in enumerate(("row", "column")):
        lines = {label[axis] for label in wrong}
        if len(lines) == 1:
            return Subject(noun, number=lines.pop(), whole=len(wrong) == (columns, rows)[axis])
    for test, side in ((int.__lt__, "above"), (int.__gt__, "below")):
        if all(test(i, j) for i, j in wrong):
            return Subject(side)
    return None


def _enumerated(labels: set, wrong: set) -> Subject:
    if len(wrong) > 3:
        return Subject("some", count=len(wrong), total=len(labels))
    names = tuple(formatting.entry(label, labels) for label in sorted(wrong, key=str))
    return Subject("named", names=names, others=len(labels - wrong))


def pattern(samples: Sequence[Sample], plan: Plan) -> Pattern | None:
    """A relation between the answer and the truth that holds in every sample; None if none is certain."""
    pairs = [_pairs(s, wrong_labels(samples)) for s in samples]
    numbers = {value for sample in pairs for pair in sample for value in pair}
    if len(numbers) < MIN_NUMBERS:
        return None
    rules = (_outside, _zero, _sign, _factor, _symbol_factor, _transposed, _offset)
    return next((found for rule in rules if (found := rule(samples, pairs, plan)) is not None), None)


def _pairs(sample: Sample, wrong: set) -> Pairs:
    """Yours and the truth at every label that is wrong somewhere."""
    return [(sample.got[w], sample.expected[w]) for w in sorted(wrong & sample.got.keys(), key=str)]


def _square(sample: Sample) -> bool:
    return len(sample.got) > 1 and all(len(k) == 2 and k[::-1] in sample.got for k in sample.got)


def _outside(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    """Entries of an array that the right answer never reads, below or above those it reads."""
    if not all(s.outside for s in samples if s.wrong):
        return None
    return outside(next(s for s in samples if s.wrong), plan)


def outside(sample: Sample, plan: Plan) -> Pattern:
    """The first entry that the answer reads outside the right one's range at a point, with its indices."""
    name, index = sample.outside[0]
    read = f"{name}[{', '.join(map(str, index))}]"
    values = ((str(s), sample.point.symbols.get(s)) for s in (*plan.indices, *plan.sizes))
    at = ", ".join(f"{s} = {formatting.show(value)}" for s, value in values if value is not None)
    return Pattern(RANGE, {"read": read, "at": f" at {at}" if at else ""})


def _transposed(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    if not all(_square(s) for s in samples):
        return None
    for sign, name in ((1, "transposed"), (-1, "transposed and sign")):
        if all(same(s.got[k], sign * s.expected[k[::-1]]) for s in samples for k in s.got):
            return Pattern(name)
    return None


def _zero(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    """Wrong entries that are all zero: a term or a whole case was left out."""
    if not all(g == 0 for sample in pairs for g, _ in sample):
        return None
    whose = subject(samples)
    name = {"off diagonal": "missing off-diagonal", "diagonal": "missing diagonal"}.get(whose.kind)
    return Pattern(name) if name is not None else Pattern("zero", {"subject": whose})


def _ratios(pairs: list[Pairs]) -> list[sp.Expr] | None:
    """Per sample the factor between yours and the truth, if all wrong labels share one."""
    found = []
    for sample in pairs:
        counted = [(g, e) for g, e in sample if g != 0 or e != 0]
        if not counted or any(e == 0 or not e.is_finite or not g.is_finite for g, e in counted):
            return None
        first = counted[0][0] / counted[0][1]
        if not all(same(g, first * e) for g, e in counted[1:]):
            return None
        found.append(simple_rational(first))
    return found


def _sign(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    if set(_ratios(pairs) or ()) != {sp.S.NegativeOne}:
        return None
    return Pattern("sign", {"subject": subject(samples)})


def _factor(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    """A number that is rational, or the root of one."""
    ratios = {tidy(ratio) for ratio in _ratios(pairs) or ()}
    if len(ratios) != 1 or not ((factor := ratios.pop()) ** 2).is_Rational or factor == 0:
        return None
    facts = {"subject": subject(samples), "factor": formatting.show(factor)}
    return Pattern(CONSTANT, facts, ratio=factor)


def _symbol_factor(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    """A factor that is one of the arguments, or its reciprocal: alpha is missing, N is too many."""
    ratios = _ratios(pairs)
    if not ratios or len(set(ratios)) == 1:
        return None
    for symbol in (*plan.values, *plan.sizes):
        values = [s.point.symbols.get(symbol) for s in samples]
        if any(v is None or v == 0 for v in values):
            continue
        for power in (-1, 1, -2):
            if all(same(r, v**power) for r, v in zip(ratios, values, strict=True)):
                facts = {"subject": subject(samples), "symbol": str(symbol), "power": power}
                return Pattern(SYMBOL, facts)
    return None


def _offset(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    flat = [pair for sample in pairs for pair in sample]
    if not all(value.is_finite for pair in flat for value in pair):
        return None
    gaps = {simple_rational(g - e) for g, e in flat}
    if len(gaps) != 1 or not (gap := gaps.pop()).is_Rational or gap == 0:
        return None
    facts = {"subject": subject(samples), "by": formatting.show(abs(gap)), "too_large": bool(gap > 0)}
    return Pattern("constant offset", facts)
