"""All that is wrong was written by few of the programs, and the others' blocks are right."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule, first_of
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class SomePrograms(Rule):
    """`wrong` are the flat numbers of the programs that wrote what is wrong, of `programs`."""

    name = "some programs"
    rank = 250
    vague = locates = True

    output: str
    case: str
    programs: int
    wrong: tuple[int, ...]

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
        return cls(clue.name, clue.outcome.case.name, len(programs), tuple(wrong))

    def wording(self) -> Wording:
        """Which programs."""
        several = len(self.wrong) > 1
        they, their, s, p, r = ("they", "their", "", "s", "") if several else ("it", "its", "s", "", "s")
        return Wording(
            f"All wrong elements of {self.output} were written by {len(self.wrong)} of the {self.programs} "
            f"programs that write it, number{'s' if len(self.wrong) > 1 else ''} {first_of(self.wrong, 6)} "
            f"(case {self.case}); what the others wrote is right.",
            f"How {'do these programs' if several else 'does this program'} differ from the others: in what "
            f"{they} compute{s} from {their} number, in how often {their} loop{p} run{r}, in how much of "
            f"{their} block exists, or in the numbers that {they} read{s}?",
        )
