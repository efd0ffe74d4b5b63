"""Questions about earlier lessons with their answers, as text and as HTML.

All style is in the elements, and text has the theme's colours, as on the page of `flashlearn.status()`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from flashlearn.course.pages.overview_html import PASSED, TRIED, UNTOUCHED, prose

if TYPE_CHECKING:
    from flashlearn.lessons.shared.question import Choice, Question

WIDTH = 92
PRAISE = ("Yes, exactly.", "That is right.", "Well remembered.", "Correct.", "Exactly right.")
ALL_RIGHT = (
    "nothing has leaked out of your memory, masked or not.",
    "every lane holds what it should.",
    "and no hint was needed.",
    "if only caches hit like that.",
    "requested once, served at once.",
)
COUNTED = ("No question", "One question", "Two questions", "Three questions", "Four questions")


@dataclass(frozen=True)
class RecallResult:
    """Questions with the chosen letters, "" for none; shown as a page or as text."""

    lesson: str
    questions: tuple[Question, ...]
    chosen: tuple[str, ...]

    @property
    def right(self) -> int:
        """The number of right answers."""
        return sum(
            letter == question.right for question, letter in zip(self.questions, self.chosen, strict=True)
        )

    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html(self)


def text(recall: RecallResult) -> str:
    """For a terminal, and for `print`."""
    lines = [_title(recall)]
    for number, question, letter, choice in _answered(recall):
        lines += ["", *_wrapped(f"{number}. {question.asks} (lesson {question.about})", "", "   ")]
        for name, one in zip(question.letters, question.choices, strict=True):
            mark = ">" if name == letter else " "
            lines += _wrapped(f" {mark} {name}) {one.text}", "", "      ")
        if choice is not None:
            lines += _wrapped(_answer(recall, number, choice), "   ", "   ")
    return "\n".join([*lines, "", *_wrapped(_sum(recall), "", "")])


def html(recall: RecallResult) -> str:
    """For a notebook."""
    parts = [
        Markup('<div class="flashlearn-recall" style="max-width: 56em; margin: 8px 0; line-height: 1.5;">'),
        Markup('<p style="margin: 0 0 6px;"><b>{}</b></p>').format(_title(recall)),
    ]
    for number, question, letter, choice in _answered(recall):
        parts.append(
            Markup('<p style="margin: 10px 0 2px;">{}. {} <i>(lesson {})</i></p>').format(
                number, prose(question.asks), question.about
            )
        )
        parts.append(
            Markup('<ul style="list-style: none; margin: 0 0 4px; padding-left: 18px;">{}</ul>').format(
                Markup("").join(_item(question, name, name == letter) for name in question.letters)
            )
        )
        if choice is not None:
            edge = PASSED if choice.right else TRIED
            parts.append(
                Markup(
                    '<p style="margin: 2px 0 2px 18px; padding-left: 10px; border-left: 4px solid {};">{}</p>'
                ).format(edge, prose(_answer(recall, number, choice)))
            )
    edge = PASSED if recall.right == len(recall.questions) else UNTOUCHED
    parts.append(
        Markup('<p style="margin: 12px 0 0; padding-left: 10px; border-left: 4px solid {};">{}</p>').format(
            edge, prose(_sum(recall))
        )
    )
    return str(Markup("").join([*parts, Markup("</div>")]))


def _item(question: Question, name: str, chosen: bool) -> Markup:
    choice = question.choices[question.letters.index(name)]
    line = Markup("{}) {}").format(name, prose(choice.text))
    return Markup("<li>{}</li>").format(Markup("<b>▸ {}</b>").format(line) if chosen else line)


def _answered(recall: RecallResult) -> Iterator[tuple[int, Question, str, Choice | None]]:
    """Number, question, letter and choice; the choice is None where the question is open."""
    for number, (question, letter) in enumerate(zip(recall.questions, recall.chosen, strict=True), 1):
        yield number, question, letter, question.choices[question.letters.index(letter)] if letter else None


def _title(recall: RecallResult) -> str:
    count = len(recall.questions)
    asked = COUNTED[count].lower() if count < len(COUNTED) else f"{count} questions"
    return f"Before lesson {recall.lesson}: {asked} about what came before"


def _answer(recall: RecallResult, number: int, choice: Choice) -> str:
    if not choice.right:
        return f"Not that one. {choice.says}"
    return f"{PRAISE[(int(recall.lesson) + number) % len(PRAISE)]} {choice.says}"


def _sum(recall: RecallResult) -> str:
    count, given = len(recall.questions), sum(map(bool, recall.chosen))
    if not given:
        return (
            "Not answered yet. Put the letter of a choice between the quotation marks after each number, "
            "and run the cell again."
        )
    if recall.right == count:
        return f"{count} of {count}: {ALL_RIGHT[int(recall.lesson) % len(ALL_RIGHT)]}"
    open_ = count - given
    rest = "; choose again for the others" if given > recall.right else ""
    rest += f"; {open_} not answered yet" if open_ else ""
    return f"{recall.right} of {count} right{rest}."


def _wrapped(line: str, first: str, then: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, initial_indent=first, subsequent_indent=then)
