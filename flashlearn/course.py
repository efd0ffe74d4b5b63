"""Where the course is on disk: the lessons, the learner's own copies in work/, and their names.

    >>> course = Course.here()
    >>> [lesson.stem for lesson in course.lessons()]
    ['00_tour', '02_softmax']

Only files are read here. Nothing of torch or triton is imported, so that completion in a shell stays quick.
"""

from __future__ import annotations

import difflib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

EXERCISE_CELL = "ex-"
"""An exercise's cell has the id `ex-<name>`, in the lesson and in the learner's copy."""


class CourseError(Exception):
    """What is wrong with the course's files or with a name, in one sentence for the learner."""


@dataclass(frozen=True)
class Lesson:
    """One lesson as it lies in notebooks/: `stem` is "02_softmax", `exercises` in reading order."""

    stem: str
    title: str
    exercises: tuple[str, ...]

    @property
    def number(self) -> str:
        """The lesson's number as text: "02"."""
        return self.stem.split("_", 1)[0]


@dataclass(frozen=True)
class Course:
    """A course's folder: notebooks/ as given out, work/ the learner's, solutions/ to read afterwards."""

    root: Path

    @classmethod
    def here(cls) -> Course:
        """The course of the current directory: see `root`."""
        return cls(root())

    @property
    def notebooks(self) -> Path:
        return self.root / "notebooks"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def solutions(self) -> Path:
        return self.root / "solutions"

    def lessons(self) -> tuple[Lesson, ...]:
        """All lessons in order, read off notebooks/. Raises CourseError where there is none."""
        found = tuple(_read_lesson(path) for path in sorted(self.notebooks.glob("[0-9]*.ipynb")))
        if not found:
            raise CourseError(
                f"There are no lessons in {self.notebooks}: run flashlearn in the course's folder, "
                "or set FLASHLEARN_COURSE to it."
            )
        return found

    def exercises(self) -> dict[str, Lesson]:
        """Each exercise's lesson, by the exercise's name, in reading order."""
        return {name: lesson for lesson in self.lessons() for name in lesson.exercises}

    def find_lesson(self, text: str) -> Lesson | None:
        """The lesson called `text`: its number ("2", "02"), stem or file name; None if there is none."""
        wanted = Path(text).name.removesuffix(".ipynb")
        for lesson in self.lessons():
            if wanted == lesson.stem or (wanted.isdecimal() and int(wanted) == int(lesson.number)):
                return lesson
        return None

    def fill_work(self) -> list[Path]:
        """Copy the lessons that work/ does not have yet, and return those; nothing is overwritten."""
        lessons = self.lessons()
        try:
            self.work.mkdir(exist_ok=True)
            return [copy for lesson in lessons if (copy := self._copy(lesson))]
        except OSError as error:
            raise CourseError(f"The lessons could not be copied to {self.work}: {reason(error)}.") from error

    def reset(self, lesson: Lesson) -> tuple[Path, Path | None]:
        """Put a fresh copy into work/. Returns it and where the old one is kept (None if there was none)."""
        copy = self.work / f"{lesson.stem}.ipynb"
        kept = None
        try:
            (self.work / "old").mkdir(parents=True, exist_ok=True)
            if copy.exists():
                kept = unused(self.work / "old" / f"{lesson.stem}.{timestamp()}.ipynb")
                copy.rename(kept)
            self._copy(lesson)
        except OSError as error:
            where = f" Your old copy is {kept}." if kept else ""
            raise CourseError(f"{copy} could not be reset: {reason(error)}.{where}") from error
        return copy, kept

    def _copy(self, lesson: Lesson) -> Path | None:
        source, target = self.notebooks / f"{lesson.stem}.ipynb", self.work / f"{lesson.stem}.ipynb"
        try:
            with open(target, "xb") as file:  # "x": whoever made the file first keeps it
                try:
                    file.write(source.read_bytes())
                except OSError:
                    target.unlink()  # half a notebook would never be replaced
                    raise
        except FileExistsError:
            return None
        shutil.copymode(source, target)
        return target


def root() -> Path:
    """$FLASHLEARN_COURSE, else the nearest folder upwards with notebooks/ and flashlearn, else here."""
    if chosen := os.environ.get("FLASHLEARN_COURSE"):
        return Path(chosen).expanduser().absolute()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "notebooks").is_dir() and (folder / "flashlearn").is_dir():
            return folder
    return here


def exercise_cells(notebook: dict) -> tuple[str, ...]:
    """The exercises of a notebook (its JSON), by the ids of their cells."""
    ids = [str(cell.get("id", "")) for cell in notebook.get("cells", [])]
    return tuple(i.removeprefix(EXERCISE_CELL) for i in ids if i.startswith(EXERCISE_CELL))


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """One sentence for a name that does not exist, with the names that look like it."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    close = close or [k for k in known if name.lower() in k.lower()][:3]
    if not close:
        return f"There is no {kind} called {name!r}: `flashlearn status` lists them all."
    return f"There is no {kind} called {name!r}: did you mean {' or '.join(close)}?"


def timestamp() -> str:
    """Now, as it goes into a file's name: sortable, and allowed on every file system."""
    return datetime.now().strftime("%Y%m%d-%H%M%S")


def unused(path: Path) -> Path:
    """`path`, or with a number before its suffix if that is taken."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate


def reason(error: OSError) -> str:
    """What the system said, without the number: "no space left on device"."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def _read_lesson(path: Path) -> Lesson:
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        exercises, title = exercise_cells(notebook), _title(notebook)
    except (ValueError, AttributeError, OSError) as error:
        raise CourseError(
            f"{path} is damaged: `git checkout -- {path.name}` in its folder brings the lesson back."
        ) from error
    return Lesson(path.stem, title or path.stem, exercises)


def _title(notebook: dict) -> str:
    for cell in notebook.get("cells", []):
        for line in "".join(cell.get("source", "")).splitlines():
            if cell.get("cell_type") == "markdown" and line.startswith("# "):
                return line.removeprefix("# ").strip()
    return ""
