"""Completion in the shell: names of exercises and of notebooks, read from the course's files."""

from __future__ import annotations

from flashlearn.course.files import Course, CourseError


def exercises(incomplete: str) -> list[tuple[str, str]]:
    """Exercises that begin with `incomplete`, each with its lesson."""
    try:
        known = Course.here().exercises()
    except CourseError:
        return []
    return [(name, lesson.stem) for name, lesson in known.items() if name.startswith(incomplete)]


def notebooks(incomplete: str) -> list[tuple[str, str]]:
    """Lessons whose notebook begins with `incomplete`, each with its title."""
    try:
        known = Course.here().lessons()
    except CourseError:
        return []
    return [(lesson.stem, lesson.title) for lesson in known if lesson.stem.startswith(incomplete)]


def both(incomplete: str) -> list[tuple[str, str]]:
    """Notebooks, then exercises."""
    return notebooks(incomplete) + exercises(incomplete)
