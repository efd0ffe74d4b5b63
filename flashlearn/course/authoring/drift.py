"""`check`: whether both notebooks of every lesson are what `build` would write, without running anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from flashlearn.course import installed_cell
from flashlearn.course.authoring import files, notebook
from flashlearn.course.authoring.builder import stale_cells
from flashlearn.course.authoring.execute import is_gpu
from flashlearn.course.authoring.source import Cell, LessonSource
from flashlearn.course.lesson_reader import SOURCE

BUILD = "make build"
SHOWN = 4  # differences named per file


@dataclass(frozen=True)
class Stale:
    """One difference from what `build` would write: where, why, and the command or change that fixes it."""

    file: str
    why: str
    fix: str

    def __str__(self) -> str:
        return f"{self.file}: {self.why}\n    fix: {self.fix}"


def check(root: Path | str | None = None, exercises: Mapping[str, str] | None = None) -> list[Stale]:
    """Everything that is stale, in reading order; nothing if the course is as built.

    `exercises` maps every declared exercise to its lesson's number; by default the package's own.
    """
    folder = files.find_root(root)
    if exercises is None:
        from flashlearn.lessons import all_exercises

        exercises = {name: exercise.lesson for name, exercise in all_exercises().items()}
    lessons = files.read_all(folder)
    found = [stale for lesson in lessons for stale in _check_lesson(lesson)]
    return [*found, *_exercises(lessons, exercises), *_orphans(folder, lessons)]


def _check_lesson(lesson: LessonSource) -> Iterator[Stale]:
    """Problems of the source; if there are none, what the two notebooks say."""
    if lesson.problems:
        yield from (
            Stale(f"{p.file}:{p.line}", p.message, f"fix the source, then {BUILD}") for p in lesson.problems
        )
        return
    for path, solved in ((files.learner_notebook(lesson), False), (files.solved_notebook(lesson), True)):
        file = str(path.relative_to(lesson.root))
        try:
            found = notebook.read(path)
        except ValueError as error:
            yield Stale(file, str(error), BUILD)
            continue
        if found is None:
            yield Stale(file, "is missing", BUILD)
            continue
        expected = notebook.generate(lesson, solved)
        if differences := _differences(expected, found, lesson):
            yield _why_different(file, found, differences, lesson)
        elif solved:
            yield from _outputs(file, found, lesson)
        if not solved and any(c.get("outputs") or c.get("execution_count") for c in found.cells):
            yield Stale(file, "has outputs; a learner's notebook has none", BUILD)


def _why_different(file: str, found: NotebookNode, differences: list[str], lesson: LessonSource) -> Stale:
    """A notebook that still matches its own fingerprint is old; one that does not was edited."""
    shown = "; ".join(differences[:SHOWN])
    if len(differences) > SHOWN:
        shown += f"; and {len(differences) - SHOWN} more"
    source = str(lesson.path.relative_to(lesson.root))
    if found.metadata.get("flashlearn", {}).get("built") == notebook.fingerprint(found.cells):
        return Stale(file, f"is older than {source}: {shown}", BUILD)
    return Stale(
        file, f"was edited by hand: {shown}", f"take what is worth keeping into {source}, then {BUILD}"
    )


def _differences(expected: NotebookNode, found: NotebookNode, lesson: LessonSource) -> list[str]:
    """Cell by cell, by id, in the words of the source's lines."""
    places = {cell.id: _place(cell) for cell in lesson.cells} | {installed_cell.IDENTITY: "a missing package"}
    wanted = {cell.id: cell for cell in expected.cells}
    got: dict[str, NotebookNode] = {}
    differences = []
    for number, cell in enumerate(found.cells, 1):
        identity = cell.get("id", f"cell {number}")
        if identity not in wanted or identity in got:
            first = cell.source.strip().splitlines()[:1]
            differences.append(f"cell {number} (`{first[0][:50] if first else ''}`) is not of this source")
        else:
            got[identity] = cell
    for identity, cell in wanted.items():
        if identity not in got:
            differences.append(f"the cell of {places[identity]} is missing")
            continue
        for what in ("cell_type", "source", "metadata"):
            if cell[what] != got[identity][what]:
                differences.append(f"the {what.replace('cell_', '')} of {places[identity]} differs")
    if not differences and list(got) != list(wanted):
        differences.append("the cells are in another order")
    return differences


def _place(cell: Cell) -> str:
    place = f"line {cell.place.number}"
    return f"{place} ({cell.id})" if cell.exercise else place


def _outputs(file: str, found: NotebookNode, lesson: LessonSource) -> Iterator[Stale]:
    """A solved notebook shows what its source, as it is now, computed, and no errors."""
    record = found.metadata.get("flashlearn", {})
    fix = BUILD
    if is_gpu(device := record.get("device", "")):
        fix = f"{BUILD} where there is a GPU: the outputs come from {device}; build --force replaces them"
    if errors := notebook.failed(found):
        places = {cell.id: _place(cell) for cell in lesson.cells}
        yield Stale(file, f"shows an error at {', '.join(places[c.id] for c in errors)}", fix)
    if never := stale_cells(lesson, found):
        yield Stale(file, f"has code cells that were never executed: {', '.join(never)}", fix)
    elif record.get("source") != notebook.code_fingerprint(found.cells):
        yield Stale(file, "has outputs of an older source", fix)


def _exercises(lessons: list[LessonSource], declared: Mapping[str, str]) -> Iterator[Stale]:
    """Every declared exercise has one cell, in its lesson, and every cell an exercise."""
    cells: dict[str, Cell] = {}
    for lesson in lessons:
        for name, cell in lesson.exercises.items():
            place = f"{cell.place.file}:{cell.place.number}"
            number = lesson.name.split("_")[0]
            if name in cells:
                first = cells[name].place
                yield Stale(
                    place, f"a second cell for {name}: the first is {first.file}:{first.number}", "keep one"
                )
            elif name not in declared:
                fix = f"declare it in {_folder(number)}/{name}.py, or correct the name"
                yield Stale(place, f"{name} is no declared exercise", fix)
            elif declared[name] != number:
                yield Stale(
                    place,
                    f"{name} is declared for lesson {declared[name]}",
                    "move the cell or the declaration",
                )
            cells.setdefault(name, cell)
    for name, number in declared.items():
        if name not in cells:
            fix = f'add a cell `# %% exercise="{name}"` to {_folder(number)}/{SOURCE}'
            yield Stale(f"{_folder(number)}/{name}.py", f"{name} is declared but has no cell", fix)


def _folder(number: str) -> str:
    return f"{files.LESSONS}/lesson_{number}_…"


def _orphans(root: Path, lessons: list[LessonSource]) -> Iterator[Stale]:
    """Notebooks that no source makes."""
    names = {lesson.name for lesson in lessons}
    for folder in ("notebooks", "solutions"):
        for path in sorted((root / folder).glob("*.ipynb")):
            if path.stem not in names:
                why = f"has no source {files.LESSONS}/lesson_{path.stem}/{SOURCE}"
                yield Stale(str(path.relative_to(root)), why, "delete it, or bring its source back")
