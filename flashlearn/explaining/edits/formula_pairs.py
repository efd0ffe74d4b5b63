"""Two edits of a formula, where no single one makes it right: for one output, or for some of several.

A formula is decided by symbols or by many numbers, which two edits together do not meet by chance. Pairs are
tried in the order in which their edits were, the likeliest first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

from flashlearn.explaining.edits.each_output import Repairs, applied
from flashlearn.explaining.edits.edit import Edit
from flashlearn.explaining.edits.trial import Trial
from flashlearn.explaining.findings.edits import TwoEdits
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.explaining.findings.rule import listed_words
from flashlearn.outcome import Finding
from flashlearn.running.answer_source import Section

POOL = 32
"""How many of the likeliest edits are combined."""

PAIR_RUNS = 360
"""Runs that the search for a pair may take."""

Numbered = tuple[int, Edit]
Makes = Callable[..., Finding]


def pair_of_edits(
    trial: Trial, sections: Sequence[Section], pool: Sequence[Numbered], finding: Makes
) -> Finding | None:
    """The finding that two natural edits of a formula together make every wrong case right.

    `finding(section, edit, output, written)` makes the finding of one edit. None if no pair does.
    """
    left, spent = trial.left, min(trial.left, PAIR_RUNS * getattr(trial, "run_work", 1))
    trial.left = spent
    try:
        for first, second in _pairs(pool[:POOL]):
            if trial.left <= 0:
                return None
            texts = applied(sections, [first, second])
            if texts is not None and _right(trial, texts):
                return _two_edits(trial, sections, first, second, finding)
    finally:
        trial.left, trial.fixed = left - (spent - trial.left), ()
    return None


def edit_of_some_outputs(
    trial: Trial,
    sections: Sequence[Section],
    repairs: Repairs,
    natural: Callable[[Numbered], bool],
    finding: Makes,
) -> Finding | None:
    """The finding that an edit makes some outputs right in every case; the others are said to be open."""
    if any(not outcome.outputs for outcome in trial.wrong):
        return None  # a call that stops: what it would return is not known, nor whether it was right before
    some = {names: [one for one in found if natural(one)] for names, found in repairs.items()}
    names = max((names for names, found in some.items() if found), key=len, default=None)
    if names is None:
        return None
    at, edit = some[names][0]
    part = finding(sections[at], edit, listed_words(sorted(names)), "")
    silent = tuple(sorted(trial.bad - names))
    return Finding(Outputs((part,), silent), part.place, 0, len(trial.wrong), True)


def _pairs(pool: Sequence[Numbered]) -> Iterator[tuple[Numbered, Numbered]]:
    """All pairs, those of the likeliest edits first."""
    numbered = itertools.combinations(range(len(pool)), 2)
    for i, j in sorted(numbered, key=lambda two: two[0] + two[1]):
        yield pool[i], pool[j]


def _right(trial: Trial, texts: dict[int, str]) -> bool:
    """Whether everything is right with these texts, in cases that the exercise does not have as well."""
    at, text = next(iter(texts.items()))
    trial.fixed = tuple(texts.items())
    right = trial.repaired(at, text) == trial.bad and trial.generalises(at, text, trial.bad)
    trial.fixed = ()
    return right


def _two_edits(
    trial: Trial, sections: Sequence[Section], first: Numbered, second: Numbered, finding: Makes
) -> Finding | None:
    one, other = sorted((first, second), key=lambda each: (each[0], each[1].line))
    at, edit = one
    passing = trial.passing(at, edit.applied(sections[at].text), trial.wrong)
    parts = tuple(finding(sections[i], each, "", "") for i, each in (one, other))
    kind = TwoEdits(len(passing), len(trial.wrong), parts)
    return Finding(kind, parts[0].place, len(trial.wrong), len(trial.wrong))
