"""Findings of edits of the answer's own text that were tried: what they change, and which cases pass then."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from flashlearn.explaining.edits.edit import EditKind, kind_named
from flashlearn.explaining.edits.questions import question_of
from flashlearn.explaining.edits.quotation import without_spare_parentheses
from flashlearn.explaining.findings.counts import all_pass, some_pass
from flashlearn.explaining.findings.nan_origin import sentence_away_from
from flashlearn.explaining.findings.rule import joined, labelled
from flashlearn.outcome import Finding, FindingKind, Wording

LONGEST_QUOTE = 64
"""Characters of a text that is quoted whole; of a longer one, only what differs is."""

COMMENT = re.compile(r"(?<=\s)#[^\n]*(?=\n)")


DOUBT = "whether the mistake itself is there is not known"
LINE_QUESTION = "Write the formula beside these lines: to which of them does this factor belong?"
DOUBT_QUESTION = "What should this line compute, and what do the lines that use it take it for?"


@dataclass(frozen=True)
class OneEdit(FindingKind):
    """An edit with which all `cases` failing cases pass, or one `output` is right in every case.

    `edit` is the name of its kind, `line` and `also` are the learner's lines that it changes, `old` and `new`
    the text before and after, `quoted` the same within the expression around it. With `doubt` the mistake
    itself may be elsewhere. In the lines `instead` the same change would do. `tried` is the whole section as
    it was run, as (its first line, its text).
    """

    name = "one edit"
    follows = True

    edit: str
    line: int
    old: str
    new: str
    cases: int
    also: tuple[int, ...] = ()
    output: str = ""
    quoted: tuple[str, str] = ("", "")
    doubt: bool = False
    instead: tuple[int, ...] = ()
    tried: tuple[int, str] = field(default=(0, ""), compare=False, repr=False)

    @property
    def edit_kind(self) -> EditKind:
        """The kind of the edit."""
        return kind_named(self.edit)

    def wording(self) -> Wording:
        """What the edit changes, and that it was seen to be enough."""
        result = (
            f"the {'outputs' if ' and ' in self.output else 'output'} {self.output} "
            f"{'are' if ' and ' in self.output else 'is'} right in every case"
            if self.output
            else all_pass(self.cases)
        )
        if self.doubt:
            return Wording(f"{self._without_the_change(result)}; {DOUBT}.", DOUBT_QUESTION)
        start = f"{self.change().removesuffix(',')}," if self.output else self.change()
        if self.instead:
            lines = " or ".join(map(str, self.instead))
            also = f"The same change in line {lines} instead does as well."
            return Wording(f"{start} {result}. {also}", LINE_QUESTION)
        return Wording(f"{start} {result}.", self.question)

    @property
    def question(self) -> str:
        """The learner's next step: what to ask about what the edit changes."""
        return question_of(self.edit, *(self.quoted if any(self.quoted) else (self.old, self.new)))

    def change(self) -> str:
        """What is edited, as the beginning of a sentence about what comes of it."""
        old, new = self._quotes()
        change = self.edit_kind.sentence.format(line=self.line, old=old, new=new)
        return f"{change.removesuffix(',')}{self._likewise()}," if self.also else change

    def _without_the_change(self, result: str) -> str:
        """What comes of the change, without its text: it may merely avoid the mistake."""
        lines = [str(number) for number in dict.fromkeys((self.line, *self.also))]
        where = f"lines {', '.join(lines[:-1])} and {lines[-1]}" if len(lines) > 1 else f"line {lines[0]}"
        return f"{result[0].upper()}{result[1:]} once {where} {'is' if len(lines) == 1 else 'are'} changed"

    def _quotes(self) -> tuple[str, str]:
        old, new = self.quoted if any(self.quoted) else (self.old, self.new)
        new = without_spare_parentheses(new, old)
        old, new = _differing_parts(old, new) if self.edit_kind.quotes_both else (old, new)
        return _on_one_line(old), _on_one_line(new)

    def _likewise(self) -> str:
        """The other lines of an edit that is made in several."""
        others = [str(number) for number in dict.fromkeys(self.also) if number != self.line]
        lines = f"in line{'s' * (len(others) > 1)} {' and '.join(others)}" if others else "elsewhere in it"
        return f", and the same change {lines}" if self.also else ""


@dataclass(frozen=True)
class TwoEdits(FindingKind):
    """Two edits: the first makes `reached` of the `cases` wrong ones right, and both together make all."""

    name = "two edits"
    follows = True

    reached: int
    cases: int
    parts: tuple[Finding, ...] = ()

    def wording(self) -> Wording:
        """Both changes, with what came of them."""
        first, second = (part.kind for part in self.parts)
        some = some_pass(self.reached, self.cases)
        start = first.change()
        if not self.reached:
            start, some = f"{start.removesuffix(',')} alone,", "no failing case passes"
        all_of_them = "both" if self.cases == 2 else "all"
        together = "Two changes make everything right; they may be one mistake in two places."
        return Wording(
            f"{together} (1) {start} {some}. "
            f"(2) {second.change().removesuffix(',')} as well, {all_of_them} pass.",
            labelled(("1", first.question), ("2", second.question)),
        )


@dataclass(frozen=True)
class EditAndMistake(FindingKind):
    """An edit with which every case completes, and the mistake that makes the results wrong then."""

    name = "edit and mistake"
    follows = True

    parts: tuple[Finding, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the mistake."""
        return self.parts[1].names

    def wording(self) -> Wording:
        """The change, and the mistake."""
        edit, mistake = self.parts
        return Wording(
            "There are two mistakes; the second was found in a copy with the first one fixed. "
            f"(1) {edit.kind.change()} every case runs to completion. (2) {mistake.sentence}",
            labelled(("1", edit.kind.question), ("2", mistake.next_step)),
        )


@dataclass(frozen=True)
class AndOneEdit(FindingKind):
    """A finding that says what came of the mistake, and then the edit that corrects it."""

    name = "and one edit"

    parts: tuple[Finding, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the finding, and of a second mistake that is named after the edit."""
        finding, edit = self.parts
        return tuple(dict.fromkeys((*finding.names, *(n for n in edit.names if n != OneEdit.name))))

    def wording(self) -> Wording:
        """One after the other."""
        finding, edit = self.parts
        return Wording(joined(sentence_away_from(finding, edit.place), edit.sentence), edit.next_step)


@dataclass(frozen=True)
class DeclaredInLine(FindingKind):
    """A declared mistake, and the edit that takes it back."""

    name = "declared in line"
    conclusive = True

    parts: tuple[Finding, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the declared mistake."""
        return self.parts[0].names

    def wording(self) -> Wording:
        """The exercise's words, and then the edit."""
        declared, edit = self.parts
        return Wording(joined(declared.sentence, edit.sentence), declared.next_step)


def _differing_parts(old: str, new: str) -> Sequence[str]:
    """Two texts; if they are long, the part in which they differ, with a word around it."""
    if max(len(old), len(new)) <= LONGEST_QUOTE:
        return old, new
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    start = max(0, same - 20)
    start = old.rfind(" ", 0, start) + 1 if start else 0
    before = "… " if start else ""
    after = " …" if tail > 14 else ""
    return [before + text[start : len(text) - max(0, tail - 14)] + after for text in (old, new)]


def _on_one_line(text: str) -> str:
    text = " ".join(COMMENT.sub("", text).split())
    return text if len(text) <= 2 * LONGEST_QUOTE else f"{text[: 2 * LONGEST_QUOTE]} …"
