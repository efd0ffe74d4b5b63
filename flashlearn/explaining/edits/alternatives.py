"""After an edit that repairs an answer but need not be its mistake: whether a more natural one does too."""

from __future__ import annotations

from collections.abc import Sequence

from flashlearn.explaining.edits.avoidance import avoids
from flashlearn.explaining.edits.disabled_bounds import (
    ALWAYS_MORE_WORK,
    disables_a_bound,
    makes_up_for_all,
)
from flashlearn.explaining.edits.edit import Edit
from flashlearn.explaining.edits.naturalness import Naturalness, bound_lines, naturalness
from flashlearn.explaining.edits.ranking import Hints
from flashlearn.explaining.edits.slicing import lines_that_read
from flashlearn.explaining.edits.trial import Trial
from flashlearn.running.answer_source import Section

ALTERNATIVE_WORK = 150.0
"""Work that the search for a more natural edit may take."""

EXCHANGES = ("operand order", "sign", "operator", "brackets")
"""Kinds that keep the parts of an expression: as slips they are as likely in a bound as elsewhere."""


def most_natural(
    trial: Trial,
    sections: Sequence[Section],
    found: tuple[int, Edit],
    remaining: Sequence[tuple[int, Edit]],
    hints: Hints,
) -> tuple[int, Edit, bool] | None:
    """An edit that repairs everything, with its section: the one found, or a more natural one.

    Edits of the same line are tried first, with those that exchange the same two names and other conversions
    in place of one, then those of the line where the values first depart and of lines that read what this
    line assigns, then the likeliest ones. The last part is True for one that is odd: the mistake may be
    elsewhere. None if there is only one that repairs by work that is not needed.
    """
    section, edit = found
    level = _level(trial, sections, found, hints)
    trial.left = min(trial.left, ALTERNATIVE_WORK)

    users = lines_that_read(sections[section].text, edit.line)

    def distance(one: tuple[int, Edit]) -> int:
        same_line = one[0] == section and one[1].line == edit.line
        both_round = one[1].kind.changes_dtype and edit.kind.changes_dtype
        near = one[1].line == hints.divergence[one[0]] or (one[0] == section and one[1].line in users)
        same_names = {one[1].old, one[1].new} == {edit.old, edit.new}
        return 0 if same_line or both_round or same_names else 1 if near else 2

    for i, other in sorted(remaining, key=distance) if level else ():
        if trial.left <= 0 or not level:
            break
        if naturalness(sections[i].text, other) >= level:
            continue
        if len(trial.wrong) == 1 and trial.by_chance(other):
            continue
        text = other.applied(sections[i].text)
        if trial.repaired(i, text) != trial.bad or makes_up_for_all(trial, i, sections[i].text, other):
            continue
        if trial.generalises(i, text, trial.bad):
            its_level = _level(trial, sections, (i, other), hints)
            if its_level < level:
                section, edit, level = i, other, its_level
    if level and disables_a_bound(trial, section, sections[section].text, edit):
        return None
    odd = level == Naturalness.ODD and not _is_limited(trial, sections[section].text, edit)
    return section, edit, odd


def _is_limited(trial: Trial, text: str, edit: Edit) -> bool:
    """Whether an edit of a loop's bounds exchanges what is there, and the loop still ends where it must.

    It has been seen to make no bound ineffective, and to add no access to the cases that passed.
    """
    limited = not trial.superfluous and edit.line in bound_lines(text) and edit.kind.name in EXCHANGES
    return limited and not avoids(text, edit)


def _level(trial: Trial, sections: Sequence[Section], found: tuple[int, Edit], hints: Hints) -> Naturalness:
    """How natural an edit is that has just been seen to repair everything, and where it is."""
    i, edit = found
    departs = hints.divergence[i]
    after = departs is not None and 1 <= departs < edit.line and not edit.also
    more = trial.superfluous and edit.kind.name not in ALWAYS_MORE_WORK
    least = Naturalness.UNUSUAL if after or more else Naturalness.NATURAL
    return max(naturalness(sections[i].text, edit), least)
