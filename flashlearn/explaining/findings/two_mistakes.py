"""Two mistakes in one answer: made together, by precision, or one beside a fault of memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.explaining.edits.edit import kind_named
from flashlearn.explaining.findings.counts import of_those, of_those_that_complete, some_of, some_pass
from flashlearn.explaining.findings.declared import Declared, in_part, where
from flashlearn.explaining.findings.edits import DeclaredInLine, OneEdit
from flashlearn.explaining.findings.nan_origin import sentence_away_from
from flashlearn.explaining.findings.outputs import EachOutput
from flashlearn.explaining.findings.rule import Rule, joined, labelled, listed_words
from flashlearn.explaining.findings.shape import Shape
from flashlearn.explaining.scope import Scope
from flashlearn.outcome import Finding, FindingKind, Wording


@dataclass(frozen=True)
class AtOnce(FindingKind):
    """Two mistakes that are made together, or each in its part."""

    name = "at once"
    conclusive = True

    scope: Scope | None = None
    parts: tuple[Finding, ...] = ()

    def wording(self) -> Wording:
        """Both, and where they show."""
        first, second = (part.sentence for part in self.parts)
        sentence = f"There are two mistakes. (1) {first} (2) {second}"
        return Wording(
            joined(in_part(self.scope, "mistakes"), sentence, where(self.scope)), steps(self.parts)
        )


@dataclass(frozen=True)
class ByPrecision(FindingKind):
    """One mistake that the fp32 cases show, and another that those of half precision show."""

    name = "by precision"

    parts: tuple[Finding, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of both."""
        return (*self.parts[0].names, *self.parts[1].names)

    def wording(self) -> Wording:
        """Both, each with its precision, of whose cases alone it speaks."""
        full, half = (part.sentence for part in self.parts)
        full, half = of_those(full, "failing fp32"), of_those(half, "failing half-precision")
        return Wording(
            f"There are two mistakes. (1, in fp32) {full} (2, in half precision) {half}", steps(self.parts)
        )


@dataclass(frozen=True)
class InFp32(FindingKind):
    """A mistake that explains the fp32 cases; what those of half precision show is not known."""

    name = "in fp32"

    parts: tuple[Finding, ...]

    def wording(self) -> Wording:
        """The mistake, and for which cases it is."""
        (finding,) = self.parts
        sentence = of_those(finding.sentence, "failing fp32")
        return Wording(f"In the fp32 cases one mistake is seen. {sentence}", finding.next_step)


@dataclass(frozen=True)
class Besides(FindingKind):
    """A fault of memory, or a crash, and the mistake that the other cases show."""

    name = "besides"
    memory_fault = True
    misplaced = "all"

    parts: tuple[Finding, ...]

    def wording(self) -> Wording:
        """The fault, and then the mistake."""
        fault, other = (part.wording for part in self.parts)
        complete = "Some cases run to the end, with wrong results."
        if self.parts[1].of == 1:
            complete = "One case runs to the end, with a wrong result."
        second = f"{complete} {as_part(of_those_that_complete(other.sentence))}"
        steps = steps_of((fault.next_step, as_part(other.next_step)))
        return Wording(f"(1) {fault.sentence} (2) {second}", steps, fault.quotes, None)


@dataclass(frozen=True)
class RoundedBesides(FindingKind):
    """A mistake that gives the numbers, and in half precision they are rounded more than it rounds."""

    name = "rounded besides"
    conclusive = True

    output: str
    case: str
    parts: tuple[Finding, ...] = ()

    def wording(self) -> Wording:
        """The mistake, and in which case the rounding is seen."""
        (finding,) = self.parts
        return Wording(
            f"{finding.sentence} Besides, in case “{self.case}” {self.output} deviates from that by more "
            "than its roundings: a value may be kept in half precision, or there is a second mistake.",
            joined(finding.next_step, AGAIN),
        )


@dataclass(frozen=True)
class AfterRepair(FindingKind):
    """A first mistake whose repair was tried, and a second one, if the numbers that come then show it.

    With the repair `repaired` of the `failing` cases pass; the two are seen to explain `explained` of them.
    The outputs in `still_wrong` are wrong after it; `case` is one that passes with it.
    """

    name = "after a repair"
    follows = True

    repaired: int
    failing: int
    explained: int
    parts: tuple[Finding, ...]
    still_wrong: tuple[str, ...] = ()
    case: str = ""

    def wording(self) -> Wording:
        """The first, what comes of its repair, and the second or that there is one."""
        first, *more = self.parts
        change = getattr(first.kind, "change", None)
        one_output = bool(getattr(first.kind, "output", ""))
        passing = some_pass(self.repaired, self.failing)
        seen = first.sentence if change is None or one_output else f"{change()} {passing}."
        if more and change is not None and not one_output and not self.repaired:
            seen = f"{change()} only the second mistake is left."
        question = first.kind.question if change is not None else first.next_step
        if not more and one_output and self.still_wrong:
            names = listed_words(self.still_wrong)
            verb = "is" if len(self.still_wrong) == 1 else "are"
            apart = "" if change is not None else "With that corrected, "
            return Wording(f"{seen} {apart}{names} {verb} still wrong.", again(question))
        if not more:
            left = self.failing - self.repaired
            others = "The other failing case stays wrong" if left == 1 else f"The other {left} stay wrong"
            return Wording(f"{seen} {others}.", again(question))
        (other,) = more
        if other.kind.observed:
            return Wording(
                f"(1) {seen} (2) Something is still wrong after that. "
                f"{sentence_away_from(other, first.place)}",
                steps_of((question, other.next_step)),
            )
        inner, step = as_part(other.sentence), as_part(other.next_step)
        exchanged = isinstance(first.kind, OneEdit) and kind_named(first.kind.edit).mixes_names
        some = (
            "may be" if exchanged and self.repaired else "are"
        )  # another name may undo one half of a mistake
        order = f"There {some} two mistakes; the second was found in a copy with the first one fixed."
        if inner != other.sentence:
            order = "There are several mistakes; all but the first were found in a copy with that one fixed."
        both = f"{order} (1) {seen} (2) {as_part(self._in_the_copy(other))}"
        if self.explained in (0, self.failing):
            return Wording(both, steps_of((question, step)))
        known = f"Together they explain at least {some_of(self.explained, self.failing, 'failing case')}."
        return Wording(joined(both, known), again(steps_of((question, step))))

    def _in_the_copy(self, finding: Finding) -> str:
        """What is said of a copy with the first mistake fixed: a rule speaks of the cases that fail there."""
        left = self.failing - self.repaired
        if isinstance(finding.kind, Shape):
            return f"With (1) fixed, {finding.sentence}"  # in another case it may be another dtype
        if not isinstance(finding.kind, Rule) or not 0 < left < self.failing:
            return _in_the_copy(finding)
        cases = "in the case that still fails" if left == 1 else f"in the {left} cases that still fail"
        return f"With (1) fixed, {cases}: {finding.sentence}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the mistakes; an edit has one only where it is alone."""
        return other_names(self.parts) or (OneEdit.name,)


NUMBER = re.compile(r"(?:^|(?<=[.?:] ))\((1|2)(?=\)|, in (?:fp32|half precision)\))")
"""The number of one of two mistakes, and not an argument or an index."""


def as_part(text: str) -> str:
    """What is said of two mistakes where they are the second of two: with letters in place of numbers.

    >>> as_part("There are two mistakes. (1) dK lacks alpha. (2) `p.sum(1)` is subtracted.")
    'There are two more. (a) dK lacks alpha. (b) `p.sum(1)` is subtracted.'
    """
    lettered = NUMBER.sub(lambda found: "(" + "ab"[int(found[1]) - 1], text)
    return lettered.replace("There are two mistakes.", "There are two more.") if lettered != text else text


AGAIN = "Fix it, and check again."


def again(step: str) -> str:
    """A next step, and that there will be another; it is said once."""
    return step if AGAIN in step else joined(step, AGAIN)


def _in_the_copy(finding: Finding) -> str:
    """What is said of a copy with another mistake fixed: what was seen there need not hold of the answer."""
    sentence = of_those(finding.sentence, "remaining").replace("of these NaN", "of the NaN")
    return sentence if _is_about_the_text(finding) else f"With (1) fixed: {sentence}"


def _is_about_the_text(finding: Finding) -> bool:
    """True if it names what is written, which the repair of another mistake does not change."""
    kind = finding.kind
    if isinstance(kind, EachOutput | DeclaredInLine):
        return all(map(_is_about_the_text, finding.parts))
    return isinstance(kind, OneEdit) or (isinstance(kind, Declared) and kind.scope is None)


def other_names(parts: Sequence[Finding]) -> tuple[str, ...]:
    """The names in several findings, without that of an edit."""
    return tuple(dict.fromkeys(name for part in parts for name in part.names if name != OneEdit.name))


def steps_of(questions: Sequence[str]) -> str:
    """Several next steps, each once, with the number of the mistake that it is about."""
    return labelled(*((str(number), question) for number, question in enumerate(questions, 1)))


COVER = "Do the grid, what the kernel makes of a program's id, and the store's mask cover the whole output?"


@dataclass(frozen=True)
class PartlyWritten(FindingKind):
    """`count` of `total` elements that no program writes, and what is wrong with others.

    These are in the case `elsewhere`, if what is written in this one is right.
    """

    name = "partly written"
    conclusive = True

    output: str
    case: str
    count: int
    total: int
    parts: tuple[Finding, ...] = ()
    elsewhere: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The missing elements, and the other mistake."""
        return ("never written", *self.parts[0].names)

    def wording(self) -> Wording:
        """How many elements, and the other mistake."""
        (other,) = self.parts
        if isinstance(other.kind, AtOnce):
            return Wording(
                f"{other.sentence} Besides, no program writes {self.count} of {self.total} elements of "
                f"{self.output} (case {self.case}).",
                other.next_step,
            )
        written = "What is written is wrong, too."
        if self.elsewhere:
            written = f"In case “{self.elsewhere}” what is written is wrong, too."
        return Wording(
            f"There are two mistakes. (1) No program writes {self.count} of {self.total} elements of "
            f"{self.output} (case {self.case}). (2) {written} {other.sentence}",
            steps_of((COVER, other.next_step)),
        )


def steps(parts: tuple[Finding, ...]) -> str:
    """The next steps of several findings, each once."""
    return steps_of([part.next_step for part in parts])
