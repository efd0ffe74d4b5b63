"""Several edits, each of which makes some outputs right: together they must make all of them right."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from flashlearn.explaining.edits.edit import Edit
from flashlearn.explaining.edits.trial import Trial
from flashlearn.explaining.findings.rule import listed_words
from flashlearn.running.answer_source import Section

ALTERNATIVES = 4
"""How many edits are kept that make the same outputs right."""

JOINT_TRIALS = 24
"""How many pairs of edits are tried together."""

Repairs = Mapping[frozenset[str], Sequence[tuple[int, Edit]]]


def together(trial: Trial, sections: Sequence[Section], repairs: Repairs) -> list[tuple[str, int, Edit]]:
    """Edits with their sections and outputs that make everything right together; none if no two do.

    Two edits of one line that several outputs depend on may each be right for one of them alone.
    """
    late = not getattr(trial, "symbolic", True)
    for chosen in itertools.islice(_choices(repairs, frozenset(trial.bad), late), JOINT_TRIALS):
        texts = applied(sections, [one for _, one in chosen])
        if texts is None:
            continue
        at, text = next(iter(texts.items()))
        before, trial.fixed = trial.fixed, tuple(texts.items())
        right = trial.repaired(at, text) == trial.bad and trial.generalises(at, text, trial.bad)
        trial.fixed = before
        if right:
            return [(listed_words(sorted(outputs)), i, edit) for outputs, (i, edit) in chosen]
    return []


def _choices(repairs: Repairs, bad: frozenset[str], late: bool = False) -> Iterator[tuple]:
    """Sets of outputs that are all the wrong ones together, each with an edit; fewest sets first.

    Of numbers that count something, such as the ends of loops, those near the output come first: where one is
    off by one, so is the same edit of what it was made from, which may be right as it is.
    """
    for count in range(2, len(bad) + 1):
        for sets in itertools.combinations(repairs, count):
            if sum(map(len, sets)) == len(bad) and frozenset().union(*sets) == bad:
                likely = [list(enumerate(_ordered(repairs[one], late))) for one in sets]
                for some in sorted(itertools.product(*likely), key=lambda one: sum(n for n, _ in one)):
                    yield tuple(zip(sets, (edit for _, edit in some), strict=True))


def _ordered(edits: Sequence[tuple[int, Edit]], late: bool) -> list[tuple[int, Edit]]:
    return sorted(edits, key=lambda one: -one[1].line) if late else list(edits)


def applied(sections: Sequence[Section], edits: Sequence[tuple[int, Edit]]) -> dict[int, str] | None:
    """The texts of the sections that `edits`, each with its section's number, change; None if two overlap."""
    texts: dict[int, str] = {}
    for number in {i for i, _ in edits}:
        here = sorted((e for i, e in edits if i == number), key=lambda e: e.start, reverse=True)
        if any(later.start < earlier.end for later, earlier in itertools.pairwise(here)):
            return None
        texts[number] = sections[number].text
        for edit in here:
            texts[number] = edit.applied(texts[number])
    return texts
