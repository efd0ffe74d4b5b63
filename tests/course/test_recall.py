"""Questions about earlier lessons: an answer for every choice, in text and in HTML, whatever is typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import flashlearn
from flashlearn.course import packaged_lessons
from flashlearn.course.authoring.source import RECALL
from flashlearn.course.files import CourseError
from flashlearn.course.pages import recall_page
from flashlearn.course.recall import RecallResult, lessons_with_questions
from flashlearn.lessons.shared.question import Question, right, wrong

TWO = (
    Question("00, §1", "What is `1 + 1`?", wrong("3", "Count again."), right("2", "As ever.")),
    Question("00, §2", "Is <b> less than 2?", right("yes", "It is."), wrong("no", "Look at *b*.")),
)
ASKING = lessons_with_questions()


def shown(*chosen: str) -> tuple[str, str]:
    recall = RecallResult("01", TWO, chosen)
    return str(recall), recall._repr_html_()


def test_what_is_not_answered_says_so_and_gives_nothing_away():
    for page in shown("", ""):
        assert "Not answered yet" in page and "(lesson 00, §1)" in page
        assert not any(
            says in page for says in ("Count again", "As ever", "Not that one", *recall_page.PRAISE)
        )


def test_a_wrong_choice_is_answered_with_its_own_sentence_and_not_with_the_right_one():
    for page in shown("a", ""):
        assert "Not that one. Count again." in page and "As ever" not in page
        assert "0 of 2 right; choose again for the others; 1 not answered yet." in page


def test_right_answers_are_praised():
    for page in shown("b", "a"):
        assert sum(praise in page for praise in recall_page.PRAISE) == 2
        assert "As ever." in page and re.search(r"2 of 2: \w+", page)


def test_what_a_question_says_is_text_in_html_and_its_code_is_code():
    page = shown("", "b")[1]
    assert "<code>1 + 1</code>" in page and "&lt;b&gt;" in page and "<i>b</i>" in page


@pytest.mark.parametrize(
    ("answers", "right"),
    [
        (None, 0),
        ({}, 0),
        ({1: "", 2: None, 3: " "}, 0),
        ({1: "B", 2: "(c)", 3: " a. "}, 3),
        ({2: "c"}, 1),
    ],
)
def test_letters_are_taken_as_people_write_them(answers, right):
    assert flashlearn.recall("1", answers).right == right


@pytest.mark.parametrize(
    ("lesson", "answers", "sentence"),
    [
        ("01", "bca", "^Answers look like"),
        ("01", {4: "a"}, "no question 4"),
        ("01", {1: "e"}, "Question 1 has no choice 'e': it has a, b, c and d"),
        ("01", {3: "bc"}, "Question 3 has no choice 'bc': it has a, b and c"),
        ("00", {}, "Lesson 00 has no questions; these lessons have: 01, 02"),
    ],
)
def test_answers_that_are_none_are_answered_kindly(lesson, answers, sentence):
    with pytest.raises(CourseError, match=sentence):
        flashlearn.recall(lesson, answers)


@pytest.mark.parametrize("number", ASKING)
def test_a_lesson_asks_three_questions_about_earlier_ones_and_answers_every_choice(number):
    questions = ASKING[number]
    assert len(questions) == 3
    for question in questions:
        assert question.about[:2] < number and re.fullmatch(r"\d\d, §\d+", question.about)
        assert 2 <= len(question.choices) <= 4
        assert sum(choice.right for choice in question.choices) == 1
        assert len({choice.text for choice in question.choices}) == len(question.choices)
        for sentence in (question.asks, *(choice.says for choice in question.choices)):
            assert sentence.endswith((".", "?")) and "!" not in sentence
    assert len({question.right for question in questions}) > 1, "not always the same letter"


@pytest.mark.parametrize("number", ASKING)
def test_the_learner_s_copy_is_unanswered_and_the_solved_one_right(number):
    stem = next(stem for stem in packaged_lessons.sources() if stem.startswith(number))
    (cell,) = [
        c for c in packaged_lessons.lesson_source(stem).cells if RECALL in c.metadata.get("tags", ())
    ]  # one such cell
    for text, wanted in ((cell.stub, 0), (cell.solved, 3)):
        names: dict = {"flashlearn": flashlearn}
        *_, last = text.splitlines()
        exec(text.removesuffix(last), names)
        assert eval(last, names).right == wanted
        assert "SOLUTION" not in text and "STUB" not in text


def test_sections_that_questions_point_to_exist():
    for questions in ASKING.values():
        for question in questions:
            number, section = question.about.split(", §")
            source = next(
                path for stem, path in packaged_lessons.sources().items() if stem.startswith(number)
            )
            assert re.search(rf"^# ## {section} · ", Path(source).read_text(encoding="utf-8"), re.MULTILINE)
