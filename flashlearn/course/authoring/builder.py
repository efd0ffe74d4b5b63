"""`build`: both notebooks of each lesson, executing only what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from flashlearn.course.authoring import execute, files, notebook
from flashlearn.course.authoring.regions import SourceError
from flashlearn.course.authoring.source import LessonSource

Progress = Callable[[str, int, int], None]
"""Called with a lesson's name, how many of its cells are done, and how many it has."""


@dataclass(frozen=True)
class Built:
    """The result of building one lesson.

    `written` are the files that changed. `outputs` says where the solved notebook's outputs come
    from; `stale` are places of code cells without outputs, or whose outputs are of an older source.
    """

    lesson: str
    written: tuple[Path, ...]
    executed: bool
    outputs: str
    stale: tuple[str, ...] = ()


def build(
    paths: Iterable[Path | str] | None = None,
    execute: bool = True,
    *,
    force: bool = False,
    root: Path | str | None = None,
    device: str | None = None,
    progress: Progress | None = None,
) -> list[Built]:
    """Write `notebooks/NN_title.ipynb` and `solutions/NN_title.ipynb` from `lesson_NN_title/notebook.py`.

    A solved notebook runs again if its code changed (or with `force`); without `execute` it keeps
    the outputs of unchanged cells. Outputs measured on a GPU are replaced on a CPU only with `force`.
    Raises SourceError with everything that is wrong in the sources before anything is written, and
    ExecutionError at the first solution that fails; its solved notebook then stays as it was. Learners'
    notebooks come first, all of them: a lesson that shows the course's state counts them.
    """
    lessons = files.read_all(files.find_root(root), paths)
    if problems := [problem for lesson in lessons for problem in lesson.problems]:
        raise SourceError(problems)
    written = {lesson.name: _write_learner(lesson) for lesson in lessons}
    return [
        _build_solved(lesson, written[lesson.name], execute, force, device, progress) for lesson in lessons
    ]


def _write_learner(lesson: LessonSource) -> list[Path]:
    path = files.learner_notebook(lesson)
    return [path] if notebook.write(notebook.generate(lesson, solved=False), path) else []


def _build_solved(
    lesson: LessonSource,
    written: list[Path],
    may_execute: bool,
    force: bool,
    device: str | None,
    progress: Progress | None,
) -> Built:
    path, solved = files.solved_notebook(lesson), notebook.generate(lesson, solved=True)
    try:
        old = notebook.read(path)
    except ValueError:  # a damaged file, a merge's conflict: `build` writes a new one
        old = None
    device = device or execute.this_device()
    executed, outputs = False, _reason_to_keep(old, solved, may_execute, force, device)
    if outputs is None:
        on_cell = (lambda done, of: progress(lesson.name, done, of)) if progress else None
        execute.execute(solved, lesson, device, on_cell)
        executed, outputs = True, f"executed on {device}"
    else:
        notebook.carry_outputs(old, solved)
    if notebook.write(solved, path):
        written = [*written, path]
    return Built(lesson.name, tuple(written), executed, outputs, stale_cells(lesson, solved))


def _reason_to_keep(
    old: NotebookNode | None, new: NotebookNode, may_execute: bool, force: bool, device: str
) -> str | None:
    """Why the old outputs stay; None if the notebook is to run."""
    record = old.metadata.get("flashlearn", {}) if old else {}
    made_on = record.get("device", "")
    unchanged = (
        old is not None
        and record.get("source") == notebook.code_fingerprint(new.cells)
        and not notebook.unexecuted(old)
        and not notebook.failed(old)
    )
    if force and may_execute:
        return None
    if unchanged:
        return f"unchanged, outputs from {made_on} kept"
    if not may_execute:
        return "not executed, outputs of unchanged cells kept"
    if execute.is_gpu(made_on) and not execute.is_gpu(device):
        return f"outputs measured on {made_on} kept: build there, or replace them with --force"
    return None


def stale_cells(lesson: LessonSource, solved: NotebookNode) -> tuple[str, ...]:
    """Places of the code cells that have no outputs of their present source."""
    empty = {cell.id for cell in notebook.unexecuted(solved)}
    return tuple(f"{c.place.file}:{c.place.number}" for c in lesson.cells if c.id in empty)
