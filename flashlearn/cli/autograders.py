"""`flashlearn class grade-one` and `export-autograder`: grading where another place collects the work."""

from __future__ import annotations

import datetime
import enum
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flashlearn.cli import console
from flashlearn.course.files import CourseError, reason

if TYPE_CHECKING:
    from flashlearn.classroom.handout import Handout
    from flashlearn.classroom.results import Result

HANDOUT = typer.Option(help="The folder made by `class release`.")
SEED_FILE = typer.Option(help="The seed file that the handout was made with.")


class Form(enum.StrEnum):
    """A place that takes one student's result at a time."""

    gradescope = "gradescope"
    classroom50 = "classroom50"
    prairielearn = "prairielearn"


class Host(enum.StrEnum):
    """A place that runs an autograder."""

    gradescope = "gradescope"
    classroom50 = "classroom50"


def grade_one(
    submission: Annotated[Path, typer.Argument(help="The folder of one student's work, or a zip of it.")],
    place: Annotated[Form, typer.Option(help="The platform whose format the result has.")],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    handout: Annotated[Path, HANDOUT] = Path("handout"),
    seed_file: Annotated[Path | None, SEED_FILE] = None,
    feedback: Annotated[Path | None, typer.Option(help="Write the feedback here too, as Markdown.")] = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Run the student's code without a sandbox.")
    ] = False,
) -> None:
    """Grade one student's work and write the result as a place's autograder does: no gradebook.

    What an autograder runs. The exit code is 0, or 1 if the grader itself failed: then nothing is written.
    """
    from flashlearn.classroom.job import Grading
    from flashlearn.classroom.pages import feedback as page
    from flashlearn.classroom.release import read_handout
    from flashlearn.classroom.single_student import graded

    asked = read_handout(handout, seed_file)
    result = graded(submission, asked, grading=Grading(unsafe=unsafe))
    layers = dict.fromkeys(w for part in result.parts if part.grade for w in part.grade.layers)
    console.say(f"Sandbox layers around the student's code: {', '.join(layers) or 'none'}.")
    if not result.complete:
        console.say("The grader failed, which is not the student's fault. Nothing was written.")
        raise typer.Exit(1)
    record = _record(place, result, asked)
    _write(out, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    if feedback is not None:
        _write(feedback, page.as_markdown(page.of(result, asked.assignment, dict(asked.titles))))
    console.say(f"{result.points} of {console.count(result.out_of, 'point')}; the result is {out}.")


def export_autograder(
    place: Annotated[Host, typer.Argument(help="The platform that grades submissions.")],
    out: Annotated[Path, typer.Option(help="The zip to write; for classroom50 the folder.")],
    handout: Annotated[Path, HANDOUT] = Path("handout"),
    seed_file: Annotated[Path | None, SEED_FILE] = None,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Grade even if the platform has too few sandbox layers.")
    ] = False,
) -> None:
    """Write an autograder that grades a handout at Gradescope or in Classroom 50. Run it in a clone."""
    from flashlearn.classroom.exports import autograders
    from flashlearn.classroom.release import read_handout

    asked = read_handout(handout, seed_file)
    if place is Host.gradescope:
        made = autograders.gradescope(asked, handout, seed_file, out, unsafe)
        held = ", with the secret of your seed file in it: upload it, and give it to no one else"
        console.say(f"The autograder is {made}{held if seed_file else ''}.")
        return
    made = autograders.classroom50(asked, handout, out, unsafe)
    console.say(f"The autograder is {made}: it goes to CLASSROOM/autograders/ASSIGNMENT of your repository.")
    if seed_file is not None:
        console.say("Your seed file is not in it: that folder is published on the web.")


def _record(place: Form, result: Result, asked: Handout) -> dict[str, Any]:
    from flashlearn.classroom.exports import classroom50, json_results

    facts = (result, asked.assignment, dict(asked.titles))
    if place is Form.gradescope:
        return json_results.gradescope(*facts)
    if place is Form.prairielearn:
        return json_results.prairielearn(*facts)
    return classroom50.classroom50(*facts, variables=os.environ, now=datetime.datetime.now(datetime.UTC))


def _write(path: Path, text: str) -> None:
    """Write a file atomically; a link or a pipe of that name is replaced, not followed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as made:
            made.write(text.encode("utf-8", "replace").decode())
        os.chmod(made.name, 0o644)
        os.replace(made.name, path)
    except OSError as error:
        raise CourseError(f"{path} cannot be written: {reason(error)}.") from error
