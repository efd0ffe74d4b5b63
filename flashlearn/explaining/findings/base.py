"""Rules: kinds of findings that are seen in the numbers of a wrong output, whatever the exercise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flashlearn.explaining.clue import SILENT, Clue
from flashlearn.explaining.comparability import is_faint
from flashlearn.outcome import FindingKind


class Rule(FindingKind):
    """A kind of finding for mistakes that no exercise declares.

    A rule looks at one wrong output at a time. It holds if it holds in every case in which the output came
    out wrong and in which it can tell; then one finding is made of what was seen in all of them.
    """

    rank: ClassVar[int]
    """Rules are asked by rank, the lowest first: the surest of those that name what was done, and after the
    experiments the `vague` ones. Ranks are multiples of 10, so that there is room between two of them."""

    @classmethod
    def look(cls, clue: Clue) -> Any:
        """What is seen in one wrong output; None where the rule does not hold, SILENT if it cannot tell."""
        raise NotImplementedError

    @classmethod
    def agree(cls, clues: Sequence[Clue], seen: Sequence[Any]) -> FindingKind | None:
        """One finding of what was seen in each case: the first case's, unless a rule needs all of them."""
        return seen[0]

    @classmethod
    def ask(cls, clue: Clue) -> Any:
        """What `look` sees, where there are numbers to look at.

        Only a rule `about_form` looks at outputs that cannot be compared with what is expected, and at
        nothing else.
        """
        comparable = clue.check.got is not None and not clue.check.problem
        if not comparable and not cls.about_form:
            return SILENT
        seen = cls.look(clue)
        if seen is None and is_faint(clue.check):
            return SILENT  # the error may be rounding, which is neither for the rule nor against it
        return seen


def joined(*sentences: str) -> str:
    """Sentences as one text; empty ones are left out."""
    return " ".join(filter(None, sentences))


def indices(index: tuple[int, ...]) -> str:
    """An index as it is written between brackets."""
    return ", ".join(map(str, index))


def first_of(numbers: tuple[int, ...], most: int) -> str:
    """The numbers, or as many of them as are worth reading."""
    return ", ".join(map(str, numbers[:most])) + (" …" if len(numbers) > most else "")
