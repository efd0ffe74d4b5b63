"""A learner's progress, as a page of HTML whose links JupyterLab opens.

All style is in the elements, and of the kind that JupyterLab keeps in a Markdown file and in an untrusted
notebook: the page looks the same in each. Text has the theme's colours.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup, escape

from flashlearn.course import lesson_reader, packaged_lessons
from flashlearn.course.files import EXERCISE_CELL, Lesson
from flashlearn.course.overview import ExerciseProgress, Overview, count_passed
from flashlearn.course.pages import overview_text
from flashlearn.course.pages.template_environment import environment

PASSED, TRIED, UNTOUCHED = "#2a9463", "#d9822b", "rgba(127, 127, 127, 0.7)"
MISSING = "You have no copy of this lesson yet: `flashlearn lab` creates one in work/."
_SPAN = re.compile(r"(\$[^$\n]+\$)|`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\n]+)\*")


def render(overview: Overview, folder: Path) -> str:
    """The page; `folder` is that of the notebook or file that shows it."""
    shown = _template().render(view=_view(overview, folder), missing=MISSING)
    # Markdown ends a block of HTML at an empty line
    return "\n".join(line.strip() for line in shown.splitlines() if line.strip())


def prose(text: str) -> Markup:
    """A line or two of Markdown as HTML: code and emphasis; formulas stay, for the page to render."""
    done, parts = 0, []
    for found in _SPAN.finditer(text):
        parts.append(escape(text[done : found.start()]))
        formula, code, strong, emphasis = found.groups()
        inside = escape(formula or code or strong or emphasis)
        tag = "code" if code else "b" if strong else "i" if emphasis else ""
        parts.append(Markup(f"<{tag}>{inside}</{tag}>") if tag else inside)
        done = found.end()
    return Markup("").join([*parts, escape(text[done:])])


@functools.cache
def _template() -> jinja2.Template:
    pages = environment().overlay()
    pages.filters = {**pages.filters, "prose": prose}
    return pages.get_template("overview.html.j2")


def _view(overview: Overview, folder: Path) -> dict[str, Any]:
    completed = overview.just_completed
    return {
        "passed": overview.passed,
        "total": overview.total,
        "percent": round(100 * overview.passed / max(overview.total, 1), 1),
        "next": _next(overview, folder),
        "done": overview_text.next_step(overview),
        "completed": _completed(overview, completed) if completed else None,
        "lessons": [_lesson(overview, lesson, folder) for lesson in overview.lessons],
        "older": overview_text.about_older_copies(overview.older),
    }


def _next(overview: Overview, folder: Path) -> dict[str, str] | None:
    if overview.next is None:
        return None
    lesson, exercise = overview.next
    named = f"lesson {lesson.number}, {lesson.title}"
    if not overview.is_started(lesson):  # from its first cell, which prepares the first exercise
        return {"what": named, "where": "", "link": _link(overview, lesson, folder)}
    return {"what": exercise, "where": f" in {named}", "link": _link(overview, lesson, folder, exercise)}


def _completed(overview: Overview, lesson: Lesson) -> dict[str, Any]:
    source = packaged_lessons.sources().get(lesson.stem)
    return {
        "number": lesson.number,
        "title": lesson.title,
        "share": overview_text.how_many(len(overview.lessons[lesson])),
        "abilities": lesson_reader.abilities(source) if source else (),
    }


def _lesson(overview: Overview, lesson: Lesson, folder: Path) -> dict[str, Any]:
    standings = overview.lessons[lesson]
    is_next = overview.next is not None and overview.next[0] == lesson
    return {
        "number": lesson.number,
        "title": lesson.title,
        "share": f"{count_passed(standings)} of {len(standings)}" if standings else "",
        "complete": overview.is_complete(lesson),
        "open": is_next,
        "link": _link(overview, lesson, folder),
        "exercises": [_exercise(s, _link(overview, lesson, folder, s.exercise)) for s in standings],
    }


def _exercise(standing: ExerciseProgress, link: str) -> dict[str, Any]:
    edge = PASSED if standing.passed else TRIED if standing.attempts else UNTOUCHED
    return {
        "name": standing.exercise,
        "state": overview_text.state(standing),
        "level": standing.level,
        "passed": standing.passed is not None,
        "link": link,
        "edge": edge,
        "fill": PASSED if standing.passed else "transparent",
    }


def _link(overview: Overview, lesson: Lesson, folder: Path, exercise: str = "") -> str:
    """The address of the exercise's cell in the learner's copy, relative to `folder`; "" if there is none."""
    if not overview.has_copy(lesson):
        return ""
    try:
        path = os.path.relpath(overview.course.copy_of(lesson), folder)
    except ValueError:  # on Windows, another drive
        return ""
    return quote(Path(path).as_posix()) + (f"#cell-id={EXERCISE_CELL}{exercise}" if exercise else "")
