"""The one fact, if there is just one, that separates the cases in which an output is wrong from the others.

>>> contrast(exercise, outcomes, "acc")
'As far as the cases tell, acc is wrong exactly where m_b > m_a.'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import sympy as sp

from flashlearn.exercise import Exercise
from flashlearn.outcome import Outcome

COMPARED = ({"m_a", "m_b"}, {"S_q", "S_k"})
"""Names whose values may be compared with each other."""

FEWEST = 3
"""In fewer cases that tell whether it holds, a fact may separate them by chance."""

GRAIN = 8
"""Registers are allocated in multiples of this number."""

Values = Mapping[str, Any]
Fact = tuple[str, Callable[[Values], bool | None]]
"""What is said of a case, and whether it holds there; None where the case does not tell."""


def contrast(exercise: Exercise, outcomes: Sequence[Outcome], output: str) -> str:
    """The sentence that says where an output is wrong; "" if no fact, or more than one, would do."""
    judged = [(o, c.ok) for o in outcomes for c in o.outputs if c.name == output]
    if len(judged) != len(outcomes) or len({ok for _, ok in judged}) != 2:
        return ""
    cases = [(_values(exercise, outcome), ok) for outcome, ok in judged]
    names = set.intersection(*(set(values) for values, _ in cases))
    fitting = [(words, holds) for words, holds in _facts(names) if _separates(holds, cases)]
    if len(fitting) != 1:
        return ""
    words, holds = fitting[0]
    decided = all(holds(values) is not None for values, _ in cases)
    subject = output if len(exercise.outputs) > 1 else "your answer"
    start = "In the cases that were tried" if decided else "As far as the cases tell"
    return f"{start}, {subject} is wrong exactly where {words}."


def _separates(holds: Callable[[Values], bool | None], cases: Sequence[tuple[Values, bool]]) -> bool:
    """Whether it holds in wrong cases alone, and in none that is right; a wrong one need not tell."""
    seen = [(held, ok) for values, ok in cases if (held := holds(values)) is not None or ok]
    return (
        len(seen) >= FEWEST
        and {ok for _, ok in seen} == {True, False}
        and all(held is not ok and held is not None for held, ok in seen)
    )


def _values(exercise: Exercise, outcome: Outcome) -> dict[str, Any]:
    """The sizes of a case, and the numbers and symbols among its arguments."""
    given = exercise.inputs(outcome.case, outcome.case.generator())
    single = {n: v for n, v in given.items() if isinstance(v, int | float | sp.Expr)}
    return {**outcome.case.sizes, **single}


def _facts(names: set[str]) -> Iterator[Fact]:
    """The facts about cases with these names."""
    blocks = [(name, f"B_{name}") for name in sorted(names) if f"B_{name}" in names]
    if blocks:
        yield "a size is not a multiple of its block", lambda v: _any(_ragged(v[a], v[b]) for a, b in blocks)
    if "registers" in names:
        yield f"registers is not a multiple of {GRAIN}", lambda v: _ragged(v["registers"], GRAIN)
    if {"S_k", "block"} <= names:
        yield "there are several tiles", lambda v: _larger(v["S_k"], v["block"])
    if "alpha" in names:
        yield "alpha is not 1", lambda v: _other(v["alpha"], 1)
    for a, b in permutations(sorted(names), 2):
        if {a, b} in COMPARED:
            yield f"{a} > {b}", lambda v, a=a, b=b: _larger(v[a], v[b])
            if a < b:
                yield f"{a} ≠ {b}", lambda v, a=a, b=b: _other(v[a], v[b])
    for name in sorted(names & {"D", "K", "M", "N", "S_k", "S_q"}):
        yield f"{name} > 1", lambda v, name=name: _larger(v[name], 1)


def _any(answers: Iterator[bool | None]) -> bool | None:
    seen = list(answers)
    return True if True in seen else None if None in seen else False


def _ragged(size: Any, block: Any) -> bool | None:
    return bool(size % block) if _known(size) and _known(block) else None


def _other(a: Any, b: Any) -> bool | None:
    return bool(sp.Ne(a, b)) if _known(a) and _known(b) else None


def _larger(a: Any, b: Any) -> bool | None:
    larger = sp.Gt(a, b)
    return bool(larger) if larger in (sp.true, sp.false) else None


def _known(value: Any) -> bool:
    return bool(sp.sympify(value).is_number)
