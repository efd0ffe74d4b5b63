"""`flashlearn.recall`: three questions about earlier lessons, and a response to each chosen answer.

    >>> flashlearn.recall("01", {1: "b", 2: "", 3: ""})
    Before lesson 01: three questions about what came before
    …

The questions of a lesson are data, `QUESTIONS` in its folder's `recall.py`. Nothing is recorded.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from typing import Any

from flashlearn import lessons
from flashlearn.course.lesson_reader import CourseError
from flashlearn.course.pages.recall_page import RecallResult
from flashlearn.lessons.shared.question import Question

FORM = 'Answers look like {1: "b", 2: "a", 3: "c"}: a letter for the number of each question.'


def recall(lesson: str, answers: Mapping[int, str] | None = None) -> RecallResult:
    """The questions at the start of lesson `lesson` ("01"), each with a response to the answer.

    `answers` has a letter for each question's number; an empty letter, or none, leaves it open. Raises
    CourseError if the lesson has no questions, and for invalid answers.
    """
    number = str(lesson).zfill(2)
    questions = _questions(number)
    return RecallResult(number, questions, _chosen(questions, {} if answers is None else answers))


def lessons_with_questions() -> dict[str, tuple[Question, ...]]:
    """The questions of every lesson that has some, by the lesson's number."""
    found = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(lessons.__path__)):
        if module.startswith("lesson_"):
            name = f"{lessons.__name__}.{module}.recall"
            if importlib.util.find_spec(name) is not None:
                found[module.split("_")[1]] = importlib.import_module(name).QUESTIONS
    return found


def _questions(number: str) -> tuple[Question, ...]:
    asking = lessons_with_questions()
    if number not in asking:
        raise CourseError(f"Lesson {number} has no questions; these lessons have: {', '.join(asking)}.")
    return asking[number]


def _chosen(questions: tuple[Question, ...], answers: Any) -> tuple[str, ...]:
    if not isinstance(answers, Mapping):
        raise CourseError(FORM)
    if strange := [key for key in answers if key not in range(1, len(questions) + 1)]:
        raise CourseError(f"There is no question {strange[0]!r}. {FORM}")
    return tuple(
        _letter(number, question, answers.get(number, "")) for number, question in enumerate(questions, 1)
    )


def _letter(number: int, question: Question, answer: Any) -> str:
    letter = "" if answer is None else str(answer).strip().strip("().").lower()
    if letter and (len(letter) > 1 or letter not in question.letters):
        *most, last = question.letters
        raise CourseError(
            f"Question {number} has no choice {answer!r}: it has {', '.join(most)} and {last}. {FORM}"
        )
    return letter
