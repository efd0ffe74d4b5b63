"""Results as JSON, one file for each student, as autograders of Gradescope and PrairieLearn write them.

Gradescope: `results.json` as its autograder documentation describes it under "Output format". PrairieLearn:
`results.json` as its documentation describes it under "External grading", "Grading results".
"""

from __future__ import annotations

from typing import Any

from flashlearn.classroom.pages.feedback import Item, of
from flashlearn.classroom.pages.formatting import fenced, in_markdown, visible
from flashlearn.classroom.records import Assignment
from flashlearn.classroom.results import Result


def gradescope(result: Result, assignment: Assignment, titles: dict[str, str]) -> dict[str, Any]:
    """A `results.json` of Gradescope: a test for each exercise, its output in Markdown."""
    page = of(result, assignment, titles)
    tests = [
        {
            "name": f"{item.name}: {item.title}" if item.title else item.name,
            "name_format": "text",
            "number": str(number),
            "score": one.points,
            "max_score": one.out_of,
            "status": "passed" if one.verdict == "pass" else "failed",
            "output": "\n\n".join(_markdown(item)),
            "output_format": "md",
            "visibility": "visible",
        }
        for number, (item, one) in enumerate(zip(page.exercises, result.exercises, strict=True), start=1)
    ]
    return {
        "score": result.points,
        "execution_time": round(_seconds(result)),
        "output": "\n".join(f"- {in_markdown(note)}" for note in page.notes),
        "output_format": "md",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def prairielearn(result: Result, assignment: Assignment, titles: dict[str, str]) -> dict[str, Any]:
    """A `results.json` of PrairieLearn; its score is a share of 1."""
    page = of(result, assignment, titles)
    if not result.complete:
        return {
            "gradable": False,
            "score": 0,
            "message": "This could not be graded, which is not your fault.",
        }
    return {
        "gradable": True,
        "score": result.points / result.out_of if result.out_of else 0.0,
        "message": f"{page.passed} of {len(page.exercises)} exercises passed.",
        "output": "\n".join(visible(note) for note in page.notes),
        "tests": [
            {
                "name": item.name,
                "description": item.title,
                "points": one.points,
                "max_points": one.out_of,
                "message": item.word,
                "output": "\n".join(as_text(item)),
            }
            for item, one in zip(page.exercises, result.exercises, strict=True)
        ],
    }


def _markdown(item: Item) -> list[str]:
    code = [f"Line {item.line_number} of its cell:", fenced(item.line)] if item.line_number else []
    sentences = [in_markdown(text) for text in (item.sentence, item.next_step) if text]
    return [*sentences[:1], *code, *sentences[1:], *([item.cases] if item.cases else [])] or [item.word]


def as_text(item: Item) -> list[str]:
    """The feedback on an exercise, line by line, without markup."""
    line = f"Line {item.line_number}: {item.line.strip()}" if item.line_number else ""
    return [visible(text) for text in (item.sentence, line, item.next_step, item.cases, item.comment) if text]


def _seconds(result: Result) -> float:
    return sum(part.grade.seconds for part in result.parts if part.grade)
