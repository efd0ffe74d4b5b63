"""Where a course lies and which files belong to it: `solutions/NN_title.py` and two notebooks for each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import flashlearn.course
from flashlearn.authoring.source import Lesson, read_lesson
from flashlearn.course import CourseError

LESSON = re.compile(r"\d\d_\w+$")


def find_root(root: Path | str | None = None) -> Path:
    """The folder that holds `solutions/`: the one given, or the course of the current folder."""
    folder = Path(root or flashlearn.course.root()).resolve()
    if not (folder / "solutions").is_dir():
        raise CourseError(f"there is no course in {folder}: run this where solutions/ lies")
    return folder


def sources(root: Path) -> list[Path]:
    """All lessons' sources, in reading order."""
    return sorted(p for p in (root / "solutions").glob("*.py") if LESSON.match(p.stem))


def choose(root: Path, asked: Iterable[Path | str] | None) -> list[Path]:
    """The sources asked for by path, by a notebook's path, by name (`02_softmax`) or number; else all."""
    known = sources(root)
    if not asked:
        return known
    chosen = []
    for one in asked:
        stem = Path(one).stem
        stem = stem.zfill(2) if stem.isdecimal() else stem
        matches = [p for p in known if stem in (p.stem, p.stem.split("_")[0])]
        if not matches:
            raise CourseError(f"no lesson {one}: there are {', '.join(p.stem for p in known) or 'none yet'}")
        chosen += [p for p in matches if p not in chosen]
    return chosen


def read_all(root: Path, asked: Iterable[Path | str] | None = None) -> list[Lesson]:
    return [read_lesson(path, root) for path in choose(root, asked)]


def learner_notebook(lesson: Lesson) -> Path:
    return lesson.root / "notebooks" / f"{lesson.name}.ipynb"


def solved_notebook(lesson: Lesson) -> Path:
    return lesson.path.with_suffix(".ipynb")
