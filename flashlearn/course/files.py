"""Where the course is on disk: the lessons, the learner's own copies in work/, and their names.

    >>> course = Course.here()
    >>> [lesson.stem for lesson in course.lessons()]
    ['00_tour', '02_softmax']

In a clone the lessons are the notebooks in notebooks/; in any other folder they come from the package. Only
files are read here. Neither torch nor triton is imported, so that completion in a shell stays quick.
"""

from __future__ import annotations

import difflib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from flashlearn.course import lesson_reader, packaged_lessons
from flashlearn.course.lesson_reader import EXERCISE_CELL, CourseError, Lesson, exercise_cells

__all__ = [
    "EXERCISE_CELL",
    "Course",
    "CourseError",
    "Lesson",
    "exercise_cells",
    "home",
    "reason",
    "root",
    "timestamp",
    "unknown",
    "unused",
]

NUMBERED = "[0-9]*.ipynb"


@dataclass(frozen=True)
class Course:
    """A course's folder: work/ is the learner's. A clone has notebooks/ and solutions/ beside it."""

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
    def in_clone(self) -> bool:
        """Whether the lessons are here as notebooks; if not, they come from the package."""
        # by a lesson's full name: other folders have numbered notebooks too
        return _has_a_lesson(self.notebooks)

    @property
    def solutions(self) -> Path:
        """Solved lessons: a clone's, with outputs; elsewhere in work/, where JupyterLab shows them."""
        return (self.root if self.in_clone else self.work) / "solutions"

    def lessons(self) -> tuple[Lesson, ...]:
        """All lessons in order. Raises CourseError if one cannot be read."""
        if not self.in_clone:
            return packaged_lessons.lessons()
        return tuple(lesson_reader.read_notebook(path) for path in sorted(self.notebooks.glob(NUMBERED)))

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

    def copy_of(self, lesson: Lesson) -> Path:
        """The path of the learner's copy of a lesson, whether it exists or not."""
        return self.work / f"{lesson.stem}.ipynb"

    def fill_work(self) -> list[Path]:
        """Copy the lessons that work/ does not have yet, and return those; nothing is overwritten.

        Outside a clone the solved lessons are copied too, to work/solutions/, not executed.
        """
        lessons = self.lessons()
        try:
            self.work.mkdir(exist_ok=True)
            copied = [copy for lesson in lessons if (copy := self._copy(lesson))]
            if not self.in_clone:
                self.solutions.mkdir(exist_ok=True)
                for lesson in lessons:
                    self._copy_solution(lesson)
        except OSError as error:
            raise CourseError(f"The lessons could not be copied to {self.work}: {reason(error)}.") from error
        return copied

    def reset(self, lesson: Lesson) -> tuple[Path, Path | None]:
        """Put a fresh copy into work/. Returns it and the path of the old one (None if there was none)."""
        copy, kept = self.copy_of(lesson), None
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            kept = self._put_aside(copy)
            self._copy(lesson)
            if not self.in_clone:
                self.solutions.mkdir(exist_ok=True)
                self._renew_solution(lesson)
        except OSError as error:
            where = f" Your old copy is {kept}." if kept else ""
            raise CourseError(f"{copy} could not be reset: {reason(error)}.{where}") from error
        return copy, kept

    def older_copies(self) -> tuple[Lesson, ...]:
        """Lessons whose copy in work/ was made from an older version of the lesson's text."""
        return tuple(lesson for lesson in self.lessons() if self._is_older(lesson))

    def _is_older(self, lesson: Lesson) -> bool:
        copy = lesson_reader.source_fingerprint(self.copy_of(lesson))
        if not copy:  # there is none, or it has no fingerprint
            return False
        if self.in_clone:
            today = lesson_reader.source_fingerprint(self.notebooks / f"{lesson.stem}.ipynb")
        else:
            today = packaged_lessons.current_fingerprint(lesson.stem, remembered=home() / "lessons.json")
        return today not in ("", copy)

    def _copy(self, lesson: Lesson) -> Path | None:
        """The lesson's copy in work/; None if there is one already."""
        target = self.copy_of(lesson)
        if target.exists() or not _write_new(target, self.given_out(lesson)):
            return None
        if self.in_clone:
            shutil.copymode(self.notebooks / target.name, target)
        return target

    def given_out(self, lesson: Lesson) -> bytes:
        """The learner's notebook of a lesson before any work in it."""
        if self.in_clone:
            return (self.notebooks / f"{lesson.stem}.ipynb").read_bytes()
        return packaged_lessons.notebook(lesson.stem, solved=False)

    def _copy_solution(self, lesson: Lesson) -> None:
        target = self.solutions / f"{lesson.stem}.ipynb"
        if not target.exists():
            _write_new(target, packaged_lessons.notebook(lesson.stem, solved=True))

    def _renew_solution(self, lesson: Lesson) -> None:
        """Renew the solved lesson; a copy that was run or edited goes to work/old/."""
        target, today = (
            self.solutions / f"{lesson.stem}.ipynb",
            packaged_lessons.notebook(lesson.stem, solved=True),
        )
        if not target.exists() or target.read_bytes() != today:
            self._put_aside(target, "-solved")
            _write_new(target, today)

    def _put_aside(self, path: Path, word: str = "") -> Path | None:
        """Move a file, if it is there, to work/old/ under a name with the time; returns where it is now."""
        if not path.exists():
            return None
        (self.work / "old").mkdir(exist_ok=True)
        kept = unused(self.work / "old" / f"{path.stem}{word}.{timestamp()}{path.suffix}")
        return path.rename(kept)


def _write_new(path: Path, content: bytes) -> bool:
    """Write a new file. False if it exists already: the first writer wins."""
    try:
        with open(path, "xb") as file:
            try:
                file.write(content)
            except OSError:
                path.unlink()  # half a notebook would never be replaced
                raise
    except FileExistsError:
        return False
    return True


def root() -> Path:
    """$FLASHLEARN_COURSE; or the nearest parent that is a clone or has lessons in work/; or this folder."""
    if chosen := os.environ.get("FLASHLEARN_COURSE"):
        return Path(chosen).expanduser().absolute()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "notebooks").is_dir() and (folder / "flashlearn").is_dir():
            return folder
        if _has_a_lesson(folder / "work"):
            return folder
    return here


def _has_a_lesson(folder: Path) -> bool:
    return folder.is_dir() and any(
        (folder / f"{stem}.ipynb").is_file() for stem in packaged_lessons.sources()
    )


def home() -> Path:
    """The folder of the progress file: $FLASHLEARN_HOME, else `.flashlearn/` beside the course."""
    chosen = os.environ.get("FLASHLEARN_HOME")
    return Path(chosen).expanduser().absolute() if chosen else root() / ".flashlearn"


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """One sentence for an unknown name, with similar names."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    close = close or [k for k in known if name and name.lower() in k.lower()][:3]
    if not close:
        return f"There is no {kind} called {name!r}: `flashlearn status` lists them all."
    return f"There is no {kind} called {name!r}: did you mean {' or '.join(close)}?"


def timestamp() -> str:
    """The time for a file's name: sortable, and allowed on every file system."""
    return datetime.now().strftime("%Y%m%d-%H%M%S")


def unused(path: Path) -> Path:
    """`path`, with a number before its suffix if the name is taken."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
    return candidate


def reason(error: OSError) -> str:
    """The system's error message without its number: "no space left on device"."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]
