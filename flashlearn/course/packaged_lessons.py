"""The lessons in the package: what an installed flashlearn copies to work/ without a clone.

    >>> [lesson.stem for lesson in lessons()]
    ['00_tour', '01_gradients', ...]
    >>> notebook("00_tour", solved=False)      # the bytes of a clone's notebooks/00_tour.ipynb

Names are read from the sources' text; only making a notebook imports jupytext.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from flashlearn.course import lesson_links
from flashlearn.course.lesson_reader import SOURCE, CourseError, Lesson, read_hints, read_source

if TYPE_CHECKING:
    from flashlearn.course.authoring.source import LessonSource
    from flashlearn.exercise import Exercise

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent
"""The folder that contains the package: INCLUDE lines of sources are relative to it."""

FOLDERS = "lesson_[0-9][0-9]_*"
_INCLUDED = re.compile(r"^\s*# INCLUDE:\s*(\S+?):\w+\s*$", re.MULTILINE)


def lessons() -> tuple[Lesson, ...]:
    """All lessons in order. Raises CourseError if the package lacks them."""
    try:
        found = tuple(read_source(path, stem) for stem, path in sources().items())
    except OSError as error:
        raise CourseError(f"The lessons in {PACKAGE} cannot be read: {error.strerror}.") from error
    if not found:
        raise CourseError(f"There are no lessons in {PACKAGE}: install flashlearn again.")
    return found


def sources() -> dict[str, Path]:
    """Each lesson's source by the lesson's stem, in reading order."""
    folders = sorted((PACKAGE / "lessons").glob(FOLDERS))
    return {
        folder.name.removeprefix("lesson_"): folder / SOURCE
        for folder in folders
        if (folder / SOURCE).is_file()
    }


def hints(exercise: Exercise) -> tuple[str, ...]:
    """The hints of an exercise, from its lesson's source. Raises CourseError if the package lacks them."""
    path = next((path for stem, path in sources().items() if stem.startswith(f"{exercise.lesson}_")), None)
    try:
        found = read_hints(path, exercise.name) if path is not None else ()
    except OSError:
        found = ()
    if not found:
        raise CourseError(f"The hints for {exercise.name} cannot be read: install flashlearn again.")
    return found


def notebook(stem: str, solved: bool) -> bytes:
    """A lesson's notebook without outputs, the learner's or the solved one, as the bytes of its file."""
    from flashlearn.course.authoring import notebook as making  # jupytext takes seconds to import

    return making.text(making.generate(lesson_source(stem), solved)).encode()


def lesson_source(stem: str) -> LessonSource:
    """A lesson's source, parsed into cells by authoring. Raises CourseError if that fails."""
    return _read_whole(stem, _digest(sources()[stem]))


@functools.cache
def _read_whole(stem: str, digest: str) -> LessonSource:
    """The parsed source, cached for both notebooks; `digest` identifies its text."""
    from flashlearn.course.authoring.regions import SourceError
    from flashlearn.course.authoring.source import read_lesson

    lesson = read_lesson(sources()[stem], ROOT)
    if lesson.problems:  # only in an author's checkout: such a source is never packaged
        raise CourseError(str(SourceError(lesson.problems)))
    return lesson


def current_fingerprint(stem: str, remembered: Path) -> str:
    """The fingerprint of the learner's notebook of this lesson in this version.

    Making the notebook takes seconds, so the answer is cached in the file `remembered`, under a digest of
    everything that the notebook is made of.
    """
    digest = _digest(sources()[stem])
    known = _read(remembered)
    if known.get(stem, {}).get("digest") != digest:
        built = json.loads(notebook(stem, solved=False))["metadata"]["flashlearn"]["built"]
        known[stem] = {"digest": digest, "built": built}
        _write(remembered, known)
    return known[stem]["built"]


def _digest(source: Path) -> str:
    """A digest of a source, of the files that it includes, and of its neighbours."""
    text = source.read_bytes()
    included = sorted(set(_INCLUDED.findall(text.decode())))
    parts = [text, lesson_links.links(source).encode(), *((ROOT / file).read_bytes() for file in included)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _read(path: Path) -> dict[str, dict[str, str]]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        return {stem: {key: str(entry[key]) for key in ("digest", "built")} for stem, entry in known.items()}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}  # none yet, or not ours: it is rewritten


def _write(path: Path, known: dict[str, dict[str, str]]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    except OSError:
        pass  # it is computed again next time
