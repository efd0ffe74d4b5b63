"""One clause for each pattern of an error, from which verdicts and findings make their sentences.

>>> clause(Pattern("constant factor", {"subject": Subject("row", number=1), "factor": "2"}))
'only row 1 is 2 times what it should be'
"""

from __future__ import annotations

from typing import Any

from flashlearn.judging.symbolic import formatting
from flashlearn.judging.symbolic.patterns import Pattern, Subject

TWICE = "is missing twice, as if you had divided by it instead of multiplying"
POWERS = {-1: "is missing", 1: "appears once too often", -2: TWICE}
"""The predicate for an argument, by the power with which it is a factor of the error."""
SIZES = {"1": "{}", "-1": "1/{}", "1/2": "√{}", "-1/2": "1/√{}", "-2": "1/{}²"}
"""A size to a power."""


def clause(pattern: Pattern) -> str:
    """The pattern as a clause, without a capital letter and a full stop."""
    return CLAUSES[pattern.name](**pattern.facts)


def wrong(subject: Subject) -> str:
    """The clause if nothing is known beyond which entries are wrong."""
    return _subject_and_predicate(subject, "is wrong", "are wrong")


def _subject_and_predicate(subject: Subject, singular: str, plural: str) -> str:
    """A clause: the wrong entries, the predicate, and a remark on the other entries."""
    return f"{_entries(subject, 'only ')} {plural if _is_plural(subject) else singular}{_rest(subject)}"


def _entries(subject: Subject, only: str = "") -> str:
    """The wrong entries as a noun phrase; part of a matrix begins with `only`."""
    line = f"{subject.kind} {subject.number}"
    return {
        "answer": "your answer",
        "only entry": "your only entry",
        "every entry": "every entry",
        "every item": "every item",
        "diagonal": "every entry on the diagonal",
        "off diagonal": "every entry off the diagonal",
        "row": f"{only}{line}" if subject.whole else f"{only}entries of {line}",
        "column": f"{only}{line}" if subject.whole else f"{only}entries of {line}",
        "above": f"{only}entries above the diagonal",
        "below": f"{only}entries below the diagonal",
        "some": f"{subject.count} of {subject.total} entries",
        "named": formatting.listed(list(subject.names)) if subject.names else "",
    }[subject.kind]


def _is_plural(subject: Subject) -> bool:
    return subject.kind in ("above", "below", "some") or not subject.whole or len(subject.names) > 1


def _rest(subject: Subject) -> str:
    if subject.kind == "named":
        return f"; {'the other is' if subject.others == 1 else 'the others are'} right"
    return {"diagonal": "; the others are right", "off diagonal": "; the diagonal is right"}.get(
        subject.kind, ""
    )


def _factor(subject: Subject, symbol: str, power: Any, size: bool = False) -> str:
    if size:
        return _constant_factor(subject, SIZES[str(power)].format(symbol))
    place = "" if subject.everything else f" in {_entries(subject)}"
    return f"the factor {symbol} {POWERS[power]}{place}"


def _constant_factor(subject: Subject, factor: str) -> str:
    return _subject_and_predicate(
        subject, f"is {factor} times what it should be", f"are {factor} times what they should be"
    )


def _offset(subject: Subject, by: str, too_large: bool) -> str:
    size = f"{by} too {'large' if too_large else 'small'}"
    return _subject_and_predicate(subject, f"is {size}", f"are {size}")


CLAUSES = {
    "index range": lambda read, at: f"your answer reads {read}{at}, which the right one does not",
    "transposed": lambda: "your matrix is the transpose of the right one",
    "transposed and sign": lambda: "your matrix is the transpose of the right one, with the opposite sign",
    "missing off-diagonal": lambda: "your matrix is diagonal: the entries off the diagonal are missing",
    "missing diagonal": lambda: "your diagonal is zero",
    "zero": lambda subject: _subject_and_predicate(subject, "is zero", "are zero"),
    "sign": lambda subject: _subject_and_predicate(subject, "has the wrong sign", "have the wrong sign"),
    "constant factor": _constant_factor,
    "factor": _factor,
    "constant offset": _offset,
}
"""A function of a pattern's facts for each name of a pattern."""
