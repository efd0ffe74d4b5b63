"""A course folder of nbgrader: `source/ASSIGNMENT/` with its metadata, and a configuration.

The metadata is that of nbgrader's schema, version 3 (nbgrader/nbgraderformat/v3.json). An exercise's cell is
a solution cell, its check an autograded test. The sources have stubs already, and no solutions, so the
configuration leaves out the step of `nbgrader generate_assignment` that would write stubs of its own.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from flashlearn.classroom.handout import Handout
from flashlearn.classroom.records import AssignedExercise
from flashlearn.course.files import CourseError, reason
from flashlearn.course.lesson_reader import EXERCISE_CELL

SCHEMA = 3

CONFIGURATION = '''"""nbgrader's configuration, as `flashlearn class export-nbgrader` writes it."""

from nbgrader.converters import GenerateAssignment

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "flashlearn"
c.Execute.timeout = 600
# the sources have the lessons' stubs, and no solutions to clear
c.GenerateAssignment.preprocessors = [
    step for step in GenerateAssignment.preprocessors.default() if step.__name__ != "ClearSolutions"
]
'''

ALL = """report = flashlearn.check("{name}", {name})
print(report)
assert report.passed, report.sentence"""

SHARE = """report = flashlearn.check("{name}", {name})
print(report)
{points} * sum(outcome.status.name == "PASS" for outcome in report.outcomes) / len(report.outcomes)"""


def export(handout: Handout, given: Path, out: Path) -> Path:
    """Write the handout in `given` as an assignment of the course folder `out`. Raises CourseError."""
    folder = out / "source" / (re.sub(r"[^\w-]+", "-", handout.assignment.name).strip("-") or "assignment")
    if folder.exists():
        raise CourseError(f"{folder} exists already: delete it, or choose another folder.")
    asked = {one.name: one for one in handout.assignment.exercises}
    try:
        folder.mkdir(parents=True)
        for notebook in handout.notebooks:
            made = json.loads((given / notebook.file).read_text(encoding="utf-8"))
            mark(made, asked)
            text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
            (folder / notebook.file).write_text(text, encoding="utf-8")
        configuration = out / "nbgrader_config.py"
        if not configuration.exists():
            configuration.write_text(CONFIGURATION, encoding="utf-8")
    except OSError as error:
        raise CourseError(f"The course folder {out} cannot be written: {reason(error)}.") from error
    return folder


def mark(notebook: dict[str, Any], asked: dict[str, AssignedExercise]) -> None:
    """Add nbgrader's metadata to the cells of exercises and of their checks, in place."""
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        exercise = str(cell.get("id", "")).removeprefix(EXERCISE_CELL)
        checked = re.fullmatch(r'\s*flashlearn\.check\("(\w+)", \w+\)\s*', source)
        if cell["cell_type"] == "code" and exercise in asked:
            cell["metadata"]["nbgrader"] = _metadata(cell["id"], solution=True)
        elif cell["cell_type"] == "code" and checked and checked[1] in asked:
            one = asked[checked[1]]
            text = (SHARE if one.rule == "share" else ALL).format(name=one.name, points=one.points)
            cell["source"] = text.splitlines(keepends=True)
            cell["metadata"]["nbgrader"] = _metadata(f"check-{one.name}", points=one.points)


def _metadata(identity: str, solution: bool = False, points: int | None = None) -> dict[str, Any]:
    found = {
        "schema_version": SCHEMA,
        "grade_id": identity,
        "grade": points is not None,
        "locked": not solution,
        "solution": solution,
        "task": False,
    }
    return found if points is None else {**found, "points": points}
