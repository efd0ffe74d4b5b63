"""Is this answer equal to that one? `judge` decides, and says why or shows where not.

    >>> x = sp.Symbol("x")
    >>> judge(x**2 - 1, (x - 1) * (x + 1), {"x": x}).proof
    'proved'
    >>> judge(x**2 - 1, x**2 + 1, {"x": x}).sentence
    'Your answer is 2 too large: at x = 1, yours is 2, it should be 0.'

Points come before proofs: a wrong answer is refused by the first generic point, and only a right
one costs a simplification. Where none succeeds, agreement at several exact points counts as equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.judging.symbolic import (
    clauses,
    comparison,
    examples,
    formatting,
    patterns,
    points,
    proofs,
    sampling_plan,
    screening,
    symbols,
)
from flashlearn.judging.symbolic.comparison import Comparison
from flashlearn.judging.symbolic.examples import Counterexample
from flashlearn.judging.symbolic.forms import Form, read
from flashlearn.judging.symbolic.patterns import Pattern
from flashlearn.judging.symbolic.unreadable import Unreadable

SIMPLE_SECONDS = 0.6
INSIDE = {"transposed": "Transposed, it is right.", "unevaluated": "Once evaluated, it is right."}


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is right, and all there is to say about it.

    `proof` is "identical", "proved" or "points" (agreement at `points` exact points). `rule` names
    what is wrong with an answer that could not be compared; `undecided` says that time ran out.
    """

    ok: bool
    sentence: str = ""
    detail: str = ""
    proof: str = ""
    points: int = 0
    rule: str = ""
    pattern: Pattern | None = None
    counterexample: Counterexample | None = None
    warnings: tuple[str, ...] = ()
    undecided: bool = False


def equal(expected: Any, got: Any, given: Mapping[str, Any] | None = None, *, seconds: float) -> bool:
    """Whether an answer agrees with the expected value at exact points: no proof, and no words."""
    try:
        with deadline(seconds):
            return _judge(expected, got, dict(given or {}), _Thoroughness(prove=False, describe=False)).ok
    except TimeLimit:
        return False


@dataclass(frozen=True)
class _Thoroughness:
    """What is looked for besides the verdict: a proof of what is right, words for what is wrong."""

    prove: bool = True
    describe: bool = True


def judge(
    expected: Any,
    got: Any,
    given: Mapping[str, Any] | None = None,
    *,
    seconds: float = 10.0,
    prove: bool = True,
) -> Verdict:
    """Compare an answer with the expected value.

    `given` are the arguments by name: their symbols may occur, and points are given in their terms. An
    argument may be an expression itself (p_k = w_k/Σw for probabilities, which then sum to one).
    """
    try:
        with deadline(seconds):
            return _judge(expected, got, dict(given or {}), _Thoroughness(prove))
    except TimeLimit:
        return Verdict(
            False,
            f"Your answer could not be compared within {seconds:g} s: the expression is too large. "
            "Simplify it along the way.",
            undecided=True,
        )


def _judge(expected: Any, got: Any, given: dict, how: _Thoroughness) -> Verdict:
    warnings: list[str] = []
    unknown: list[str] = []
    try:
        truth = _truth(expected)
        form = read(expected, got)
        allowed = [*symbols.flatten(given), *truth.expressions(), *_variables(expected)]
        form, warnings, unknown = symbols.adopt(form, allowed)
        screening.reject_undefined(form, truth)
        screening.reject_unevaluated(form, truth)
    except Unreadable as error:
        inside = _inner_answer_note(error, expected, given) if how.describe else ""
        return Verdict(False, error.sentence + inside, rule=error.rule)
    form, rounded = screening.rational(form)
    notes = (*warnings, *rounded)
    if _identical(truth, form):
        return Verdict(
            True, proof="identical", warnings=notes, detail="your answer evaluates to the expected expression"
        )
    verdict = _at_points(_Pair(truth, form, given), allowed, unknown, how)
    return replace(verdict, warnings=(*notes, *verdict.warnings))


def _truth(expected: Any) -> Form:
    return read(expected, expected if not isinstance(expected, float) else sp.Float(expected))


def _variables(expected: Any) -> list[sp.Basic]:
    return list(expected.variables) if isinstance(expected, sp.Lambda) else []


def _identical(a: Form, b: Form) -> bool:
    theirs = dict(b.leaves())
    return all(theirs.get(label) == leaf for label, leaf in a.leaves())


def _inner_answer_note(error: Unreadable, expected: Any, given: dict) -> str:
    """A note if the answer is right but in the wrong container; else nothing."""
    if error.core is None:
        return ""
    inner = _judge(expected, error.core, given, _Thoroughness(prove=False, describe=False))
    return f" {INSIDE.get(error.rule, 'What is inside it is right.')}" if inner.ok else ""


@dataclass(frozen=True)
class _Pair:
    """The two forms that are compared, and what the learner was given."""

    truth: Form
    form: Form
    given: Mapping[str, Any]

    @property
    def forms(self) -> tuple[Form, Form]:
        return self.truth, self.form

    @property
    def expressions(self) -> list[sp.Basic]:
        return [*self.truth.expressions(), *self.form.expressions()]


def _at_points(pair: _Pair, allowed: list, unknown: list[str], how: _Thoroughness) -> Verdict:
    draft = sampling_plan.plan(pair.expressions, pair.given)
    plan = sampling_plan.choose(draft, lambda candidate: comparison.roughness(*pair.forms, candidate))
    seen = comparison.compare(*pair.forms, points.generic(plan), enough=4 if how.describe else 1)
    if seen.differ and not how.describe:
        return Verdict(False)
    if seen.differ and unknown:
        return Verdict(False, symbols.unknown_sentence(unknown, allowed), rule="unknown symbol")
    if seen.differ:
        return _wrong(pair, seen, plan)
    if not seen.samples:
        return _no_common_point(pair, seen, how.prove)
    note = (f"Your answer contains {formatting.listed(unknown)}, which cancels.",) if unknown else ()
    if how.prove and proofs.proved(*pair.forms):
        return Verdict(True, proof="proved", detail="equal, proved by simplification", warnings=note)
    count = len(seen.samples)
    exactly = (
        formatting.count(count, "exact point")
        if seen.exact
        else f"{formatting.count(count, 'point')}, to 25 digits"
    )
    return Verdict(True, proof="points", points=count, detail=f"agrees at {exactly}", warnings=note)


def _wrong(pair: _Pair, seen: Comparison, plan: sampling_plan.Plan) -> Verdict:
    """The verdict on a wrong answer: which entries, what pattern, and the simplest example."""
    pattern = patterns.pattern(seen.samples, plan)
    small = comparison.compare(*pair.forms, points.simple(plan), enough=5, seconds=SIMPLE_SECONDS)
    sample = examples.simplest(small.samples if small.differ else seen.samples)
    example = examples.counterexample(sample, pair.expressions, pair.given)
    if pattern is not None and pattern.name == patterns.RANGE and sample.outside:
        pattern = patterns.outside(sample, plan)  # of the very point that is shown
    lead = clauses.clause(pattern) if pattern else clauses.wrong(patterns.subject(seen.samples))
    sentence = f"{formatting.capital(lead)}. {formatting.capital(example.sentence)}."
    return Verdict(False, sentence, examples.detail(sample, example), pattern=pattern, counterexample=example)


def _no_common_point(pair: _Pair, seen: Comparison, prove: bool) -> Verdict:
    """No point was found at which both have a value."""
    if prove and proofs.proved(*pair.forms):
        return Verdict(True, proof="proved", detail="equal, proved by simplification")
    if seen.undefined:
        at = examples.where(seen.undefined[0], pair.expressions, pair.given)
        why = f"it has no value at any point tried, such as {at} (a division by zero, an index out of range)"
    else:
        why = "its numbers grow too large" if seen.too_large else "no point was found at which it has a value"
    return Verdict(False, f"Your answer could not be compared: {why}.", rule="undefined")
