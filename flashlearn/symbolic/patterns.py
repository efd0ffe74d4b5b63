"""What a wrong answer has to do with the right one: which entries, the sign, a factor, the transpose.

A pattern is named only if it holds of every sample, and the samples hold enough different numbers
for that to be no accident.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from flashlearn.symbolic import words
from flashlearn.symbolic.comparing import Sample
from flashlearn.symbolic.exact import same, simple_rational
from flashlearn.symbolic.planning import Plan

ENOUGH_NUMBERS = 3

Pairs = list[tuple[sp.Expr, sp.Expr]]


@dataclass(frozen=True)
class Pattern:
    """Something that holds of the error at every point tried: its name, and it in words."""

    name: str
    sentence: str
    next_step: str = ""


@dataclass(frozen=True)
class Subject:
    """The wrong entries as a sentence's subject, and what is to be said of the others."""

    text: str
    plural: bool = False
    rest: str = ""

    def __call__(self, singular: str, plural: str) -> str:
        return f"{self.text} {plural if self.plural else singular}{self.rest}"


def wrong_labels(samples: Sequence[Sample]) -> set[tuple]:
    """The labels that differ in some sample."""
    return set().union(*(s.wrong for s in samples))


def subject(samples: Sequence[Sample]) -> Subject:
    """Which entries are wrong: all of them, the diagonal, a row, entry (0, 1), …"""
    labels = set().union(*(s.got.keys() for s in samples))
    wrong = wrong_labels(samples)
    if len(labels) == 1:
        return Subject("your answer" if labels == {()} else "your only entry")
    matrix = words.is_matrix(labels)
    if wrong == labels:
        return Subject("every entry" if matrix else "every item")
    others = f", {'the other is' if len(labels - wrong) == 1 else 'the others are'} right"
    square = matrix and all(_square(s) for s in samples)
    return (_region(labels, wrong, square) if matrix else None) or _enumerated(labels, wrong, others)


def _region(labels: set, wrong: set, square: bool) -> Subject | None:
    """A diagonal, a triangle, a row or a column."""
    rows, columns = (1 + max(label[axis] for label in labels) for axis in (0, 1))
    diagonal = {(i, j) for i, j in labels if i == j}
    if square and wrong == diagonal:
        return Subject("every entry of the diagonal", rest=", the others are right")
    if square and wrong == labels - diagonal:
        return Subject("every entry off the diagonal", rest=", the diagonal is right")
    if 1 in (rows, columns) or len(wrong) == 1:
        return None
    for axis, noun in enumerate(("row", "column")):
        lines = {label[axis] for label in wrong}
        if len(lines) == 1:
            whole, line = len(wrong) == (columns, rows)[axis], f"{noun} {lines.pop()}"
            return Subject(f"only {line}") if whole else Subject(f"only entries of {line}", plural=True)
    for test, side in ((int.__lt__, "above"), (int.__gt__, "below")):
        if all(test(i, j) for i, j in wrong):
            return Subject(f"only entries {side} the diagonal", plural=True)
    return None


def _enumerated(labels: set, wrong: set, others: str) -> Subject:
    if len(wrong) > 3:
        return Subject(f"{len(wrong)} of {len(labels)} entries", plural=True)
    names = [words.entry(label, labels) for label in sorted(wrong, key=str)]
    return Subject(words.listed(names), plural=len(names) > 1, rest=others)


def pattern(samples: Sequence[Sample], plan: Plan) -> Pattern | None:
    """A relation between the answer and the truth that holds in every sample; None if none is certain."""
    pairs = [_pairs(s, wrong_labels(samples)) for s in samples]
    numbers = {value for sample in pairs for pair in sample for value in pair}
    if len(numbers) < ENOUGH_NUMBERS:
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
    name, index = next(s for s in samples if s.wrong).outside[0]
    read = f"{name}[{', '.join(map(str, index))}]"
    return Pattern(
        "index range",
        f"your answer reads {read}, which lies outside the right answer's range",
        "Compare the limits of your sums with the exercise's: from where to where do its indices run?",
    )


def _transposed(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    if not all(_square(s) for s in samples):
        return None
    for sign, name, said in ((1, "transposed", ""), (-1, "transposed and sign", ", with the other sign")):
        if all(same(s.got[k], sign * s.expected[k[::-1]]) for s in samples for k in s.got):
            return Pattern(
                name,
                f"your matrix is the transpose of the right one{said}",
                "Row k holds the derivatives of output k: which is k in your entry (0, 1)?",
            )
    return None


def _zero(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    """Wrong entries that are all zero: a term or a whole case was left out."""
    if not all(g == 0 for sample in pairs for g, _ in sample):
        return None
    whole = subject(samples).text
    if whole == "every entry off the diagonal":
        return Pattern(
            "missing off-diagonal",
            "your matrix is diagonal, the entries off the diagonal are missing",
            "Ask what output k does when input j ≠ k changes.",
        )
    if whole == "every entry of the diagonal":
        return Pattern("missing diagonal", "your diagonal is zero", "Work out the case k = j by itself.")
    said = subject(samples)
    return Pattern("zero", said("is zero", "are zero"), "Which term was multiplied away, or never added?")


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
    said = subject(samples)("has the wrong sign", "have the wrong sign")
    return Pattern("sign", said, "Follow the minus through the derivation.")


def _factor(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    ratios = set(_ratios(pairs) or ())
    if len(ratios) != 1 or not (factor := ratios.pop()).is_Rational or factor == 0:
        return None
    size = f"{words.show(factor)} times what it should be"
    said = subject(samples)(f"is {size}", f"are {size.replace('it', 'they')}")
    return Pattern("constant factor", said, "Look for a number too many, or one that was dropped.")


def _symbol_factor(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    """A factor that is one of the arguments, or its reciprocal: alpha is missing, N is too many."""
    ratios = _ratios(pairs)
    if not ratios or len(set(ratios)) == 1:
        return None
    for symbol in (*plan.values, *plan.sizes):
        values = [s.point.symbols.get(symbol) for s in samples]
        if any(v is None or v == 0 for v in values):
            continue
        for power, said in ((-1, "is missing"), (1, "is there once too often"), (-2, "is missing twice")):
            if all(same(r, v**power) for r, v in zip(ratios, values, strict=True)):
                whole = subject(samples)
                everywhere = whole.text in ("your answer", "your only entry", "every entry", "every item")
                place = "" if everywhere else f" in {whole.text.removeprefix('only ')}"
                return Pattern("factor", f"the factor {symbol} {said}{place}", f"Ask where {symbol} enters.")
    return None


def _offset(samples: Sequence[Sample], pairs: list[Pairs], plan: Plan) -> Pattern | None:
    flat = [pair for sample in pairs for pair in sample]
    if not all(value.is_finite for pair in flat for value in pair):
        return None
    gaps = {simple_rational(g - e) for g, e in flat}
    if len(gaps) != 1 or not (gap := gaps.pop()).is_Rational or gap == 0:
        return None
    size = f"{words.show(abs(gap))} too {'large' if gap > 0 else 'small'}"
    return Pattern(
        "constant offset", subject(samples)(f"is {size}", f"are {size}"), "Which constant was added?"
    )
