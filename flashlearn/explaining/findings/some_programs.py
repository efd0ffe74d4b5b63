"""All that is wrong was written by few of the programs, and the others' blocks are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.explaining.findings.missing_programs import launch_of
from flashlearn.explaining.findings.rule import Clue, Rule, listed_words
from flashlearn.outcome import Wording

MOST = 4
"""So many programs are listed by their ids."""


@dataclass(frozen=True)
class SomePrograms(Rule):
    """`wrong` are the flat numbers of the programs that wrote what is wrong, of `programs`.

    `which` says which programs of the grid these are; "" where the launch is not known.
    """

    name = "some programs"
    rank = 250
    vague = locates = True

    output: str
    case: str
    programs: int
    wrong: tuple[int, ...]
    which: str = ""

    @classmethod
    def look(cls, clue: Clue) -> SomePrograms | None:
        """At most half of the programs."""
        writers = clue.check.writers
        if writers is None:
            return None
        writers = writers.reshape(clue.bad.shape)
        programs = [int(p) for p in writers.unique() if p >= 0]
        wrong = [p for p in programs if bool(clue.bad[writers == p].any())]
        few = len(programs) >= 2 and wrong and len(wrong) <= len(programs) / 2
        if not few or bool((clue.bad & (writers < 0)).any()):
            return None
        launch = launch_of(clue.name, clue.outcome.launches)
        which = _which(programs, wrong, launch.grid) if launch is not None else ""
        return cls(clue.name, clue.outcome.case.name, len(programs), tuple(wrong), which)

    def wording(self) -> Wording:
        """Which programs."""
        which = f", {self.which}" if self.which else ""
        how = "do these programs" if len(self.wrong) > 1 else "does this program"
        return Wording(
            f"All wrong elements of {self.output} were written by {len(self.wrong)} of the {self.programs} "
            f"programs that write it{which} (case {self.case}); what the others wrote is right.",
            f"How {how} differ from the others?",
        )


def _which(programs: Sequence[int], wrong: Sequence[int], grid: tuple[int, int, int]) -> str:
    """Those with one number along an axis, if that tells them from the others; else their ids.

    >>> _which(range(8), [0, 1], (4, 2, 1)), _which(range(4), [1, 2], (4, 1, 1))
    ('those with number 0 along axis 0 of the grid', '(1, 0, 0) and (2, 0, 0)')
    """
    ids = {p: (p // (grid[1] * grid[2]), p // grid[2] % grid[1], p % grid[2]) for p in programs}
    for axis in range(3):
        values = {ids[p][axis] for p in wrong}
        alone = len(values) == 1 and all(p in wrong or ids[p][axis] not in values for p in programs)
        if alone and len(wrong) > 1:
            return f"those with number {values.pop()} along axis {axis} of the grid"
    shown = [str(ids[p]) for p in wrong[:MOST]]
    return f"{', '.join(shown)}, …" if len(wrong) > MOST else listed_words(shown)
