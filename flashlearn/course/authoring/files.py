"""Where a course lies and which files belong to it: a source in each lesson's folder, and two notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import flashlearn.course.files
from flashlearn.course.authoring.source import LessonSource, lesson_name, read_lesson
from flashlearn.course.files import CourseError
from flashlearn.course.lesson_reader import SOURCE

LESSONS = Path("flashlearn/lessons")


def find_root(root: Path | str | None = None) -> Path:
    """The folder that holds `flashlearn/lessons/`: the one given, or the course of the current folder."""
    folder = Path(root or flashlearn.course.files.root()).resolve()
    if not (folder / LESSONS).is_dir():
        raise CourseError(f"there is no course in {folder}: run this where {LESSONS}/ lies")
    return folder


def sources(root: Path) -> list[Path]:
    """All lessons' sources, in reading order."""
    return sorted((root / LESSONS).glob(f"lesson_[0-9][0-9]_*/{SOURCE}"))


def choose(root: Path, asked: Iterable[Path | str] | None) -> list[Path]:
    """The sources asked for by path, by a notebook's path, by name (`02_softmax`) or number; else all."""
    known = sources(root)
    if not asked:
        return known
    chosen = []
    for one in map(Path, asked):
        wanted = lesson_name(one) if one.name == SOURCE else one.stem.removeprefix("lesson_")
        wanted = wanted.zfill(2) if wanted.isdecimal() else wanted
        names = {lesson_name(path): path for path in known}
        matches = [path for name, path in names.items() if wanted in (name, name.split("_")[0])]
        if not matches:
            raise CourseError(f"no lesson {one}: there are {', '.join(names) or 'none yet'}")
        chosen += [p for p in matches if p not in chosen]
    return chosen


def read_all(root: Path, asked: Iterable[Path | str] | None = None) -> list[LessonSource]:
    return [read_lesson(path, root) for path in choose(root, asked)]


def learner_notebook(lesson: LessonSource) -> Path:
    return lesson.root / "notebooks" / f"{lesson.name}.ipynb"


def solved_notebook(lesson: LessonSource) -> Path:
    return lesson.root / "solutions" / f"{lesson.name}.ipynb"
