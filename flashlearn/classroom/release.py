"""Handing out: a folder with the learner's notebooks, a manifest, and a page for students.

    >>> handout = release(Course.here(), ("02",), Path("handout"), name="Week 3")
    >>> [asked.name for asked in handout.assignment.exercises]
    ['softmax_jacobian', 'softmax_vjp', ...]

Grading reads the folder again: the exercises, their points, and the cells that were given. The secret of a
seed file is in none of its files.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from flashlearn.classroom.handout import MANIFEST, Handout, Notebook, NotebookCell, key_of, read_cells
from flashlearn.classroom.pages import student_page
from flashlearn.classroom.records import AssignedExercise, Assignment
from flashlearn.course.files import Course, CourseError, Lesson, reason, unknown

VERSION = 1
"""The version of the manifest's format."""

SHORTEST = 16
"""Bytes that a seed file must have: fewer can be guessed."""


def release(
    course: Course,
    lessons: Sequence[str],
    out: Path,
    name: str = "",
    rule: str = "all",
    seed_file: Path | None = None,
    version: str = "0",
) -> Handout:
    """Write the lessons' notebooks, `manifest.json` and `README.md` into `out`. Raises CourseError.

    `rule` applies to every exercise; the manifest can be edited to give one another rule or other points.
    `version` is the package's; a hash of the notebooks is added to it.
    """
    chosen = [_lesson(course, text) for text in lessons]
    if not chosen:
        raise CourseError("Say which lessons are handed out: `--lessons 02,06`.")
    if (out / MANIFEST).exists():
        raise CourseError(f"{out} holds a handout already: choose another folder, or delete this one.")
    draws = secret(seed_file)
    given = {f"{lesson.stem}.ipynb": course.given_out(lesson) for lesson in dict.fromkeys(chosen)}
    notebooks = tuple(_notebook(file, content) for file, content in given.items())
    asked = tuple(one for lesson in dict.fromkeys(chosen) for one in _asked(lesson, rule))
    if not asked:
        raise CourseError("These lessons have no exercises: there is nothing to hand in.")
    version = f"{version}+{_digest(*given.values())[:8]}"
    assignment = Assignment(
        name or f"Lessons {', '.join(n.lesson for n in notebooks)}", asked, version, draws
    )
    handout = Handout(dataclasses.replace(assignment, key=key_of(assignment)), notebooks, titles())
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, content in given.items():
            (out / file).write_bytes(content)
        (out / "README.md").write_text(student_page.render(handout), encoding="utf-8")
        (out / MANIFEST).write_text(_manifest(handout, given), encoding="utf-8")
    except OSError as error:
        raise CourseError(f"The handout could not be written to {out}: {reason(error)}.") from error
    return handout


def secret(seed_file: Path | None) -> bytes:
    """The secret that the cases' inputs are drawn from; empty without a file. Raises CourseError."""
    if seed_file is None:
        return b""
    try:
        content = seed_file.read_bytes()
    except OSError as error:
        raise CourseError(f"The seed file {seed_file} cannot be read: {reason(error)}.") from error
    if len(content) < SHORTEST:
        raise CourseError(
            f"The seed file {seed_file} has {len(content)} bytes, which can be guessed: give it at least "
            f"{SHORTEST}, as `head -c 32 /dev/urandom > {seed_file}` does."
        )
    return hashlib.sha256(b"flashlearn: draws of a class\n" + content).digest()


def read_handout(folder: Path, seed_file: Path | None = None) -> Handout:
    """The handout in `folder`, with the secret of the seed file that it was made with. Raises CourseError."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if manifest["manifest"] != VERSION:
            raise ValueError(f"its version is {manifest['manifest']!r}, and this one reads {VERSION}")
        asked = tuple(
            AssignedExercise(str(one["name"]), str(one["lesson"]), _points(one), _rule(one))
            for one in manifest["exercises"]
        )
        files = [str(one["file"]) for one in manifest["notebooks"]]
        name, version, seeded = str(manifest["name"]), str(manifest["version"]), manifest["secret_draws"]
    except FileNotFoundError:
        raise CourseError(
            f"There is no handout in {folder}: `--handout` names the folder that `flashlearn class release` "
            "made."
        ) from None
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {reason(error)}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise CourseError(f"{path} is not the manifest of a handout: {error}.") from error
    if bool(seeded) != (seed_file is not None):
        problem = "was handed out with a seed file: `--seed-file` names it" if seeded else "has no seed file"
        raise CourseError(f"{name} {problem}.")
    known = titles()
    for one in asked:
        if one.name not in known:
            raise CourseError(f"{path}: {unknown('exercise', one.name, known)}")
    notebooks = tuple(_read_notebook(folder / Path(file).name) for file in files)
    assignment = Assignment(name, asked, version, secret(seed_file))
    return Handout(dataclasses.replace(assignment, key=key_of(assignment)), notebooks, known)


def titles() -> dict[str, str]:
    """The titles of the course's exercises, by name."""
    from flashlearn.lessons import all_exercises  # imports torch

    return {name: exercise.title for name, exercise in all_exercises().items()}


def _lesson(course: Course, text: str) -> Lesson:
    lesson = course.find_lesson(text.strip())
    if lesson is None:
        raise CourseError(unknown("lesson", text.strip(), [known.stem for known in course.lessons()]))
    return lesson


def _asked(lesson: Lesson, rule: str) -> tuple[AssignedExercise, ...]:
    from flashlearn.lessons import find

    return tuple(AssignedExercise(name, lesson.number, find(name).points, rule) for name in lesson.exercises)


def _points(one: dict) -> int:
    points = one["points"]
    if isinstance(points, float) and points.is_integer():
        points = int(points)
    if not isinstance(points, int) or isinstance(points, bool) or points < 0:
        raise ValueError(f"points of {one['name']} are {points!r}, and should be a whole number")
    return points


def _rule(one: dict) -> str:
    rule = one.get("rule", "all")
    if rule not in ("all", "share"):
        raise ValueError(f'the rule of {one["name"]} is {rule!r}, and should be "all" or "share"')
    return rule


def _notebook(file: str, content: bytes) -> Notebook:
    stem = file.removesuffix(".ipynb")
    return Notebook(
        file, stem.split("_", 1)[0], tuple(NotebookCell(*cell) for cell in read_cells(content).code)
    )


def _read_notebook(path: Path) -> Notebook:
    try:
        return _notebook(path.name, path.read_bytes())
    except OSError as error:
        raise CourseError(f"{path}, which was handed out, cannot be read: {reason(error)}.") from error
    except ValueError as error:
        raise CourseError(f"{path}, which was handed out, is damaged: {error}") from error


def _manifest(handout: Handout, given: dict[str, bytes]) -> str:
    assignment = handout.assignment
    record = {
        "manifest": VERSION,
        "name": assignment.name,
        "version": assignment.version,
        "secret_draws": bool(assignment.draws),
        "exercises": [{**vars(one), "title": handout.titles[one.name]} for one in assignment.exercises],
        "notebooks": [{"file": file, "sha256": _digest(content)} for file, content in given.items()],
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def _digest(*contents: bytes) -> str:
    return hashlib.sha256(b"".join(contents)).hexdigest()
