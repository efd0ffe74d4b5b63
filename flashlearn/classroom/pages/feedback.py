"""A student's feedback, as HTML and as Markdown: each exercise's verdict, the named mistake, and the line.

    >>> write(book, Path("feedback"))
    [PosixPath('feedback/Ann Lee.html'), PosixPath('feedback/Ann Lee.md'), ...]

What is for the teacher is left out: remarks, sandbox layers, times, and who else made the same mistake.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flashlearn.classroom.gradebook import Gradebook
from flashlearn.classroom.pages.formatting import (
    MARKS,
    WORDS,
    count,
    fenced,
    in_markdown,
    number,
    template,
    visible,
)
from flashlearn.classroom.records import Assignment, ExerciseGrade
from flashlearn.classroom.results import Result
from flashlearn.classroom.whole_files import write_whole
from flashlearn.course.files import CourseError, reason

GRADER_FAILED = (
    "This could not be graded. That is not your fault: your teacher knows, and will grade it again."
)

NOTHING = "Nothing was handed in under your name."
BY_TEACHER = "Your teacher set these points."
ROUNDED = "The points of all exercises are added first and then rounded once; a half is rounded up."


@dataclass(frozen=True)
class Feedback:
    """The feedback for one student."""

    name: str
    assignment: str
    points: int
    out_of: int
    passed: int
    notes: tuple[str, ...]
    exercises: tuple[Item, ...]
    rounded: str


@dataclass(frozen=True)
class Item:
    """The feedback on one exercise."""

    name: str
    title: str
    verdict: str
    points: str
    out_of: int
    cases: str
    sentence: str
    line_number: int
    line: str
    next_step: str
    comment: str = ""

    @property
    def word(self) -> str:
        """The verdict in words."""
        return WORDS[self.verdict]


def write(book: Gradebook, out: Path) -> list[Path]:
    """Write each student's page as HTML and as Markdown. Raises CourseError if that fails."""
    assignment, titles = book.assignment()
    written = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for result, stem in file_names(book.results()):
            feedback = of(result, assignment, titles)
            for path, text in (
                (out / f"{stem}.html", in_html(feedback)),
                (out / f"{stem}.md", as_markdown(feedback)),
            ):
                write_whole(path, text)
                written.append(path)
    except OSError as error:
        raise CourseError(f"The feedback cannot be written to {out}: {reason(error)}.") from error
    return written


def of(result: Result, assignment: Assignment, titles: dict[str, str]) -> Feedback:
    """The feedback for a student's result."""
    notes = [n for part in result.parts for n in (*part.submission.notes, part.submission.broken) if n]
    notes += [n for part in result.parts if part.grade for n in part.grade.notes]
    notes += [result.late] if result.late else []
    notes += [] if result.parts else [NOTHING]
    return Feedback(
        result.student.name,
        assignment.name,
        result.points,
        result.out_of,
        sum(one.verdict == "pass" for one in result.exercises),
        tuple(dict.fromkeys(notes)),
        tuple(_item(one, titles.get(one.name, "")) for one in result.exercises),
        ROUNDED if any(one.points % 1 for one in result.exercises) else "",
    )


def in_html(feedback: Feedback) -> str:
    """The page as one HTML file, with its style and without scripts."""
    return template("feedback.html.j2").render(page=feedback)


def as_fragment(feedback: Feedback) -> str:
    """The same as an HTML fragment, for platforms with a page of their own."""
    return template("fragment.html.j2").render(page=feedback)


def as_markdown(feedback: Feedback) -> str:
    """The same in Markdown."""
    lines = [
        f"# {in_markdown(feedback.assignment)}",
        "",
        f"{in_markdown(feedback.name)}: {_total(feedback)}",
        "",
    ]
    lines += [f"- {in_markdown(note)}" for note in feedback.notes] + [""] * bool(feedback.notes)
    for item in feedback.exercises:
        lines += [f"## {MARKS[item.verdict]} `{item.name}`: {item.word}, {_points(item)}", ""]
        lines += [f"*{in_markdown(item.title)}*", ""] if item.title else []
        lines += [in_markdown(item.sentence), ""] if item.sentence else []
        if item.line:
            where = f"Line {item.line_number} of its cell:" if item.line_number else "The line:"
            lines += [where, "", fenced(item.line), ""]
        lines += [in_markdown(item.next_step), ""] if item.next_step else []
        lines += [item.cases, ""] if item.cases else []
        lines += [f"**{in_markdown(item.comment)}**", ""] if item.comment else []
    lines += [feedback.rounded, ""] if feedback.rounded else []
    return "\n".join(lines)


def file_names(results: Iterator[Result]) -> Iterator[tuple[Result, str]]:
    """Each result with a file name: the student's name, reduced to what every file system allows."""
    seen: set[str] = set()
    for result in results:
        name = result.student.name
        stem = re.sub(r"[^\w .()@+-]", "_", visible(name)).strip(" .")[:50] or "student"
        if stem.casefold() in seen or stem != name:
            stem = f"{stem} {hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"
        seen.add(stem.casefold())
        yield result, stem


def _item(one: ExerciseGrade, title: str) -> Item:
    ours = one.verdict == "not graded"
    cases = ""
    if one.cases and (one.verdict in ("wrong", "stopped") or (one.verdict == "pass" and not one.sentence)):
        cases = f"{one.cases_passed} of {count(one.cases, 'case')} passed."
    return Item(
        one.name,
        title,
        one.verdict,
        number(one.points),
        one.out_of,
        "" if ours else cases,
        GRADER_FAILED if ours and not one.mistake else one.sentence,
        0 if ours else one.line_number,
        "" if ours else one.line,
        "" if ours else one.next_step,
        " ".join(text for text in (one.comment, BY_TEACHER if one.overridden else "") if text),
    )


def _total(feedback: Feedback) -> str:
    return (
        f"{feedback.points} of {count(feedback.out_of, 'point')}, "
        f"{feedback.passed} of {count(len(feedback.exercises), 'exercise')} passed."
    )


def _points(item: Item) -> str:
    return f"{item.points} of {count(item.out_of, 'point')}"
