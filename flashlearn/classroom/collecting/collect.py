"""Collecting: which files belong to which student, in the folder layouts that teachers have.

    >>> collected = collect(Path("submissions"), handout)
    >>> [work.student.name for work in collected.students]
    ['Ann Lee', ...]

Supported are a folder for each student, exports of Moodle, Canvas and Gradescope, nbgrader's
`submitted/<student>/<assignment>/`, and a zip of any of these. Nothing is run here.
"""

from __future__ import annotations

import datetime
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from flashlearn.classroom.collecting import structure
from flashlearn.classroom.collecting.file_tree import FileEntry, archive, open_tree
from flashlearn.classroom.handout import Handout, Notebook
from flashlearn.classroom.records import Submission
from flashlearn.course.files import CourseError

MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?")
CANVAS = re.compile(r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_(?P<try>\d+)_(?P<file>.+)", re.IGNORECASE)
AGAIN = re.compile(r"[-( ](?:Copy)?(\d+)\)?\.ipynb$")
PLAIN = "a folder for each student"
GRADESCOPE = "submission_metadata.yml"
WRAPPERS = {"submissions", "submission", "submitted", "handed-in", "collected"}


@dataclass(frozen=True)
class Student:
    """A student: the name that the folder or the file gives, and the ids by platform."""

    name: str
    ids: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StudentFiles:
    """All files of one student; when they were handed in, or that they were late, if the export says so."""

    student: Student
    entries: tuple[FileEntry, ...]
    refused: tuple[str, ...] = ()
    handed_in: str = ""
    late: bool = False


@dataclass(frozen=True)
class Collected:
    """The layout that was found, the files of each student, and sentences on what was left out."""

    shape: str
    students: tuple[StudentFiles, ...]
    refused: tuple[str, ...] = ()


def collect(path: Path) -> Collected:
    """The files of all students in a folder or a zip. Raises CourseError if there are none."""
    tree = open_tree(path)
    refused = list(tree.refused)
    entries = _without_wrapper(tree.entries)
    shape, owned = _shape(entries, refused)
    works = [StudentFiles(student, tuple(files)) for student, files in owned]
    works = [replace(work, late=_is_late(work)) if shape == "Canvas" else work for work in works]
    if shape == "Gradescope":
        works = _with_dates(works, entries)
    if shape == PLAIN and works and entries == tree.entries:
        works = sorted(
            [*works, *(StudentFiles(Student(name), ()) for name in tree.empty)], key=lambda w: w.student.name
        )
    if not works:
        raise CourseError(
            f"No student's work was found in {path}. It should have a folder for each student, or be what "
            "Moodle, Canvas, Gradescope or nbgrader export."
        )
    return Collected(shape, tuple(_with_unique_names(works)), tuple(refused))


def submissions(work: StudentFiles, handout: Handout) -> Iterator[tuple[str, Submission]]:
    """For each lesson that was handed out, the student's submission after the structure check."""
    found: dict[str, list[tuple[FileEntry, bytes]]] = defaultdict(list)
    notes: list[str] = list(work.refused)
    unread: list[str] = []
    notebooks = {notebook.lesson: notebook for notebook in handout.notebooks}
    for entry, read in _notebooks(work, notes, unread):
        try:
            content = read()
        except ValueError as error:
            unread.append(structure.named_file(str(error), entry.path))
            continue
        notebook = structure.belongs_to(content, entry.path, handout.notebooks)
        if notebook is not None:
            found[notebook.lesson].append((entry, content))
        else:
            notes.append(
                f"{entry.parts[-1]} is none of the notebooks that were handed out, and was left out."
            )
    every = [one for files in found.values() for one in files]
    for lesson, asked in handout.parts().items():
        given = notebooks[lesson]
        files = found.get(lesson) or [one for one in every if structure.is_answered(one[1], given, asked)]
        made = _one(work, files, given, asked, notes, unread)
        yield lesson, replace(made, handed_in=work.handed_in, late=work.late)


def _one(
    work: StudentFiles,
    files: list[tuple[FileEntry, bytes]],
    given: Notebook,
    asked: Any,
    notes: list[str],
    unread: list[str],
) -> Submission:
    name = work.student.name
    if not files:
        why = " ".join((f"{given.file} was not handed in.", *unread[:3]))
        return structure.broken(name, why, (), notes)
    entry, content = max(
        files,
        key=lambda one: (structure.is_answered(one[1], given, asked), _again(one[0].path), one[0].path),
    )
    remarks = list(notes)
    if len(files) > 1:
        remarks.append(f"There are {len(files)} copies of {given.file}: {entry.parts[-1]} was graded.")
    return structure.examine(name, entry.path, content, given, asked, remarks)


def _again(path: str) -> int:
    """The attempt number in a file's name: "02_softmax-1.ipynb", or "-Copy1", is after "02_softmax.ipynb"."""
    found = AGAIN.search(path)
    return int(found[1]) if found else 0


def _notebooks(work: StudentFiles, notes: list[str], unread: list[str]) -> Iterator[tuple[FileEntry, Any]]:
    """A student's notebooks, including those inside a zip; what could have been one is in `unread`."""
    for entry in work.entries:
        if entry.path.endswith(".ipynb"):
            yield entry, entry.read
        elif entry.path.endswith(".zip"):
            try:
                inside = archive(entry.read())
            except (ValueError, zipfile.BadZipFile, OSError):
                unread.append(f"{entry.parts[-1]} cannot be unpacked.")
                continue
            notes.extend(inside.refused[:3])
            for member in inside.entries:
                if member.path.endswith(".ipynb"):
                    yield replace(member, path=f"{entry.path}/{member.path}"), member.read
                elif why := _instead(member):
                    unread.append(why)
        elif why := _instead(entry):
            unread.append(why)


def _instead(entry: FileEntry) -> str:
    """Why a file that may hold somebody's work is not graded; nothing for any other file."""
    name = entry.parts[-1]
    if name.lower().endswith((".zip", ".tar", ".gz", ".tgz", ".rar", ".7z")):
        return f"{name} was not opened: hand in the notebook itself, or one zip of notebooks."
    if name.lower().endswith((".py", ".pdf", ".html", ".txt", ".docx", ".md")):
        return f"{name} is not a notebook, and was not graded: hand in the .ipynb file."
    return ""


def _shape(
    entries: tuple[FileEntry, ...], refused: list[str]
) -> tuple[str, list[tuple[Student, list[FileEntry]]]]:
    """The name of the layout, and the files of each student."""
    if meta := next((e for e in entries if e.parts[-1] == GRADESCOPE), None):
        return "Gradescope", _gradescope(entries, meta)
    nbgrader = [e for e in entries if "submitted" in e.parts[:-3]]
    if nbgrader:
        return "nbgrader", _grouped((Student(e.parts[e.parts.index("submitted") + 1]), e) for e in nbgrader)
    if any(MOODLE.fullmatch(e.parts[0]) for e in entries if len(e.parts) > 1):
        return "Moodle", _grouped(_moodle(e) for e in entries if len(e.parts) > 1)
    flat = [e for e in entries if len(e.parts) == 1]
    if flat and len(flat) == len(entries) and any(CANVAS.fullmatch(e.path) for e in flat):
        return "Canvas", _grouped(found for e in flat if (found := _canvas(e, refused)))
    outside = [e for e in flat if e.path.endswith((".ipynb", ".zip"))]
    refused.extend(f"{e.path} lies in no student's folder, and was left out." for e in outside)
    return PLAIN, _grouped((Student(e.parts[0]), e) for e in entries if len(e.parts) > 1)


def _moodle(entry: FileEntry) -> tuple[Student, FileEntry]:
    found = MOODLE.fullmatch(entry.parts[0])
    return (Student(found["name"], {"moodle": found["id"]}) if found else Student(entry.parts[0])), entry


def _canvas(entry: FileEntry, refused: list[str]) -> tuple[Student, FileEntry] | None:
    found = CANVAS.fullmatch(entry.path)
    if found is None:
        refused.append(f"{entry.path} has no name of the form that Canvas gives, and was left out.")
        return None
    return Student(found["name"], {"canvas": found["id"]}), entry


def _gradescope(entries: tuple[FileEntry, ...], meta: FileEntry) -> list[tuple[Student, list[FileEntry]]]:
    """The files by the submitters in the metadata."""
    known = _metadata(meta)
    below = len(meta.parts) - 1
    owned = []
    for entry in entries:
        if entry is not meta and len(entry.parts) > below:
            folder = entry.parts[below]
            owned.extend((student, entry) for student in _submitters(known.get(folder), folder))
    return _grouped(owned)


def _metadata(meta: FileEntry) -> dict:
    """Gradescope's metadata by the submissions' folders. Raises CourseError."""
    try:
        import yaml
    except ImportError:
        raise CourseError(
            "Reading Gradescope's metadata takes PyYAML: `pip install 'flashlearn[classroom]'`."
        ) from None
    try:
        known = yaml.safe_load(meta.read())
    except (yaml.YAMLError, ValueError, RecursionError):
        raise CourseError(f"{meta.path} is damaged: export the submissions again.") from None
    return known if isinstance(known, dict) else {}


def _is_late(work: StudentFiles) -> bool:
    """Whether Canvas marks any of a student's files as late, in its name."""
    found = (CANVAS.fullmatch(entry.path) for entry in work.entries)
    return any(one is not None and one["late"] for one in found)


def _with_dates(works: list[StudentFiles], entries: tuple[FileEntry, ...]) -> list[StudentFiles]:
    """The same with the dates of Gradescope's metadata."""
    meta = next(e for e in entries if e.parts[-1] == GRADESCOPE)
    known, below = _metadata(meta), len(meta.parts) - 1
    made = []
    for work in works:
        folders = {entry.parts[below] for entry in work.entries}
        dates = [one.get(":created_at") for one in map(known.get, folders) if isinstance(one, dict)]
        moments = sorted(text for date in dates if (text := _iso(date)))
        made.append(replace(work, handed_in=moments[-1]) if moments else work)
    return made


def _iso(date: Any) -> str:
    """A date of the metadata in ISO 8601; YAML has made dates of some, in UTC."""
    if isinstance(date, datetime.datetime):
        aware = date if date.tzinfo is not None else date.replace(tzinfo=datetime.UTC)
        return aware.isoformat()
    try:
        return datetime.datetime.fromisoformat(str(date)).isoformat()
    except ValueError:
        return ""


def _submitters(record: Any, folder: str) -> list[Student]:
    """The students of a submission: a group's work counts for each member."""
    people = record.get(":submitters") if isinstance(record, dict) else None
    found = []
    for one in people if isinstance(people, list) else []:
        if isinstance(one, dict) and one.get(":name"):
            ids = {"gradescope": one.get(":sid"), "email": one.get(":email")}
            found.append(Student(str(one[":name"]), {k: str(v) for k, v in ids.items() if v}))
    return found or [Student(folder)]


def _grouped(owned: Any) -> list[tuple[Student, list[FileEntry]]]:
    found: dict[tuple, tuple[Student, list[FileEntry]]] = {}
    for student, entry in owned:
        key = (student.name, *sorted(student.ids.items()))
        found.setdefault(key, (student, []))[1].append(entry)
    return list(found.values())


def _without_wrapper(entries: tuple[FileEntry, ...]) -> tuple[FileEntry, ...]:
    """The same files without a folder that holds all students' folders."""
    tops = {e.parts[0] for e in entries}
    if len(tops) != 1 or any(len(e.parts) == 1 for e in entries):
        return entries
    (top,) = tops
    below = {e.parts[1] for e in entries if len(e.parts) > 2}
    files = [e.parts[1] for e in entries if len(e.parts) == 2]
    known = any(MOODLE.fullmatch(name) for name in below) or any(CANVAS.fullmatch(name) for name in files)
    if top == "submitted" or not (known or GRADESCOPE in files or top.lower() in WRAPPERS or len(below) > 1):
        return entries
    return tuple(replace(e, path=e.path.partition("/")[2]) for e in entries)


def _with_unique_names(works: list[StudentFiles]) -> Iterator[StudentFiles]:
    """The same with unique names: a name that two students have gets their id, or a count."""
    twice = {name for name, count in Counter(w.student.name for w in works).items() if count > 1}
    seen: Counter[str] = Counter()
    for work in works:
        student = work.student
        if student.name in twice:
            seen[student.name] += 1
            mark = next(iter(student.ids.values()), seen[student.name])
            student = replace(student, name=f"{student.name} ({mark})")
        yield replace(work, student=student)
