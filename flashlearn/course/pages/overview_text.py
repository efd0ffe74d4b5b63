"""A learner's progress as lines of text: for a terminal, with a style for each line, and for print."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flashlearn.course.files import Lesson
from flashlearn.course.overview import ExerciseProgress, Overview, count_passed

BAR = 30
"""Characters of the progress bar."""


@dataclass(frozen=True)
class Line:
    """One line of text with a style of rich's, "" for none. A line of a `table` may be cut."""

    text: str
    style: str = ""
    table: bool = False


def lines(overview: Overview, unfolded: bool = False) -> Iterator[Line]:
    """All lines, with the exercises of lessons that have been started, or with `unfolded` of every lesson."""
    yield Line(f"{count(overview)}  {bar(overview)}", "bold")
    if lesson := overview.just_completed:
        yield Line(completed(overview, lesson), "green")
    yield Line("")
    yield Line(next_step(overview))
    yield Line("")
    width = max((len(s.exercise) for s in overview.everything), default=0)
    stems = max((len(lesson.stem) for lesson in overview.lessons), default=0)
    levels = max((len(s.level) for s in overview.everything), default=0)
    folded = False
    for lesson, standings in overview.lessons.items():
        share = f"{count_passed(standings)} of {len(standings)}" if standings else ""
        mark, style = ("✓", "green") if overview.is_complete(lesson) else (" ", "")
        yield Line(f"{mark} {lesson.stem:{stems}}  {share:8} {lesson.title}".rstrip(), style, table=True)
        if unfolded or _is_open(overview, lesson):
            yield from (
                Line(f"      {s.exercise:{width}}  {_level(s, levels)}{state(s)}".rstrip(), _style(s))
                for s in standings
            )
        else:
            folded = folded or bool(standings)
    if folded:
        yield Line("")
        yield Line("`flashlearn status --all` shows the exercises of every lesson.", "dim")
    if older := about_older_copies(overview.older):
        yield Line("")
        yield Line(older)


def count(overview: Overview) -> str:
    """The progress in words: «7 of 46 exercises have passed.»"""
    if overview.total and overview.passed == overview.total:
        return f"All {overview.total} exercises have passed."
    return f"{overview.passed} of {overview.total} exercises have passed."


def bar(overview: Overview) -> str:
    """The progress as a bar: not empty once an exercise has passed, and not full before all have."""
    full = round(BAR * overview.passed / max(overview.total, 1))
    full = min(max(full, overview.passed > 0), BAR - (overview.passed < overview.total))
    return "█" * full + "░" * (BAR - full)


def completed(overview: Overview, lesson: Lesson) -> str:
    """The sentence for a lesson that has just been completed."""
    number = len(overview.lessons[lesson])
    return f"Lesson {lesson.number} is complete: {lesson.title}. {how_many(number)} passed."


def how_many(exercises: int) -> str:
    """«Both exercises have», before «passed»."""
    return {1: "Its one exercise has", 2: "Both exercises have"}.get(
        exercises, f"All {exercises} exercises have"
    )


def next_step(overview: Overview) -> str:
    """What to do next, with the notebook's path."""
    if overview.next is None:
        return "Nothing left to do." if overview.total else "There are no exercises yet."
    lesson, exercise = overview.next
    where = overview.course.copy_of(lesson)
    if not overview.has_copy(lesson):
        return f"Next: {exercise} in {where}; `flashlearn lab` copies the lesson there and opens it."
    return f"Next: {exercise} in {where}; `flashlearn lab` opens it."


def state(standing: ExerciseProgress) -> str:
    """Of one exercise: "passed 2026-03-01, 2 attempts, 1 hint, solution seen"."""
    parts = ["tried" if standing.attempts else "not started"]
    if standing.passed:
        parts = [f"passed {standing.passed.astimezone():%Y-%m-%d}"]
    return ", ".join([*parts, *effort(standing)])


def effort(standing: ExerciseProgress) -> list[str]:
    """The effort: attempts, hints, the solution."""
    counts = [
        _plural(number, noun) for number, noun in ((standing.attempts, "attempt"), (standing.hints, "hint"))
    ]
    return [*filter(None, counts), *(["solution seen"] if standing.solution_seen else [])]


def about_older_copies(older: tuple[Lesson, ...]) -> str:
    """One sentence on copies in work/ that are older than their lesson; "" if there are none."""
    if not older:
        return ""
    first, *others = numbers = [lesson.number for lesson in older]
    if not others:
        return (
            f"Your copy of lesson {first} was made from an older version of the lesson: "
            f"`flashlearn reset {first}` fetches the current one and keeps yours in work/old/."
        )
    return (
        f"Your copies of lessons {', '.join(numbers[:-1])} and {numbers[-1]} were made from older versions "
        f"of these lessons: `flashlearn reset {first}`, and likewise for each number, fetches the current "
        "one and keeps yours in work/old/."
    )


def _is_open(overview: Overview, lesson: Lesson) -> bool:
    is_next = overview.next is not None and overview.next[0] == lesson
    return is_next or (overview.is_started(lesson) and not overview.is_complete(lesson))


def _level(standing: ExerciseProgress, width: int) -> str:
    """A column of levels, if any lesson has them."""
    return f"{standing.level:{width}}  " if width else ""


def _style(standing: ExerciseProgress) -> str:
    if standing.passed:
        return "green"
    return "yellow" if standing.attempts else "dim"


def _plural(number: int, noun: str) -> str:
    if not number:
        return ""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
