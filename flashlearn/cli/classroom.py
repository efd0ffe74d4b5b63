"""`flashlearn class`: release lessons, grade submissions, and write feedback, reports and exports."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from flashlearn import __version__
from flashlearn.classroom.whole_files import write_whole
from flashlearn.cli import autograders, console
from flashlearn.course.files import Course, CourseError, reason, unknown

if TYPE_CHECKING:
    from flashlearn.classroom.class_run import RunSummary
    from flashlearn.classroom.job import Grading
    from flashlearn.classroom.workers.cluster import Cluster
    from flashlearn.classroom.workers.pool import Pool

app = typer.Typer(no_args_is_help=True, help="Release lessons to a class, and grade the submissions.")
app.command("grade-one")(autograders.grade_one)
app.command("export-autograder")(autograders.export_autograder)

Book = Annotated[Path, typer.Option("--db", help="The gradebook.")]
BOOK = Path("gradebook.sqlite")
SEED_FILE = typer.Option(
    help="A file with at least 16 secret bytes, so that students cannot predict the inputs."
)


class Place(enum.StrEnum):
    """Where grades go."""

    csv = "csv"
    canvas = "canvas"
    moodle = "moodle"
    gradescope = "gradescope"
    prairielearn = "prairielearn"


class Attempts(enum.StrEnum):
    """Which of a student's versions of a notebook counts."""

    latest = "latest"
    best = "best"


class Rule(enum.StrEnum):
    """How an exercise's points are awarded."""

    all = "all"
    share = "share"


@app.command()
def release(
    lessons: Annotated[str, typer.Option(help="Which lessons: 02,06.")],
    out: Annotated[Path, typer.Option(help="The folder to write for students.")] = Path("handout"),
    name: Annotated[str, typer.Option(help="The assignment's name for students.")] = "",
    rule: Annotated[
        Rule, typer.Option(help="Points for all cases or none, or by the share of cases.")
    ] = Rule.all,
    seed_file: Annotated[Path | None, SEED_FILE] = None,
) -> None:
    """Write the lessons' notebooks, a manifest and a page for students into a folder."""
    from flashlearn.classroom.release import release

    chosen = [text for text in lessons.split(",") if text.strip()]
    handout = release(Course.here(), chosen, out, name, rule.value, seed_file, __version__)
    exercises = handout.assignment.exercises
    points = console.count(sum(one.points for one in exercises), "point")
    console.say(
        f"{handout.assignment.name}: {console.count(len(exercises), 'exercise')}, {points}, in {out}."
    )
    console.say("manifest.json has points and rules; change them before you grade, if you like.")
    if seed_file is not None:
        console.say(f"Keep {seed_file} secret: grading needs it.")


@app.command()
def grade(
    submissions: Annotated[Path, typer.Argument(help="A folder or a zip of the submissions.")],
    db: Book = BOOK,
    handout: Annotated[Path, typer.Option(help="The folder made by `class release`.")] = Path("handout"),
    seed_file: Annotated[Path | None, SEED_FILE] = None,
    regrade: Annotated[bool, typer.Option("--regrade", help="Grade everything again.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Worker processes; 0: one for each CPU core.")] = 0,
    scheduler: Annotated[
        str, typer.Option(help="A Dask scheduler, tcp://…, whose workers grade instead.")
    ] = "",
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Run students' code without a sandbox; the gradebook records it.")
    ] = False,
    gpus: Annotated[
        int,
        typer.Option(
            min=0, help="Time right answers on this many GPUs, for your information; with --unsafe."
        ),
    ] = 0,
) -> None:
    """Grade all notebooks. Run it again to grade new ones, or to continue where it stopped.

    The exit code is 0, 1 if something could not be graded, and 130 after Ctrl-C.
    """
    from flashlearn.classroom.class_run import grade_all
    from flashlearn.classroom.collecting.collect import collect
    from flashlearn.classroom.gradebook import Gradebook
    from flashlearn.classroom.job import Grading
    from flashlearn.classroom.release import read_handout

    if gpus and not unsafe:
        raise CourseError("`--gpus` needs `--unsafe`: a GPU's driver is not available in the sandbox.")
    handed_out, collected = read_handout(handout, seed_file), collect(submissions)
    total = len(collected.students) * len(handed_out.parts())
    console.say(f"{console.count(len(collected.students), 'student')}, from {collected.shape}.")
    try:
        grader = _grader(Grading(unsafe=unsafe, gpus=gpus), workers, scheduler)
        with Gradebook.open(db) as book, grader, _progress(total) as bar:
            if book.has_another_secret(handed_out) and not regrade:
                raise CourseError(
                    f"{seed_file or 'No seed file'} is not the secret of the run before: all inputs would be "
                    "drawn anew. With --regrade everything is graded again with it."
                )
            if book.begin(handed_out):
                console.say("The assignment has changed since the last run: everything is graded again.")
            tally = grade_all(collected, handed_out, book, grader, regrade, bar)
    except KeyboardInterrupt:
        console.say(f"Stopped. The grades so far are in {db}; the same command continues from there.")
        raise typer.Exit(130) from None
    _say(tally, db)
    raise typer.Exit(1 if tally.failed else 0)


@app.command()
def feedback(
    db: Book = BOOK, out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("feedback")
) -> None:
    """Write a page of feedback for each student, as HTML and as Markdown."""
    from flashlearn.classroom.gradebook import Gradebook
    from flashlearn.classroom.pages.feedback import write

    with Gradebook.read(db) as book:
        written = write(book, out)
    console.say(f"Feedback for {console.count(len(written) // 2, 'student')} is in {out}.")


@app.command()
def report(
    db: Book = BOOK,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    earlier: Annotated[
        list[Path] | None, typer.Option(help="A gradebook of an earlier year, to compare answers with.")
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="With a stand-in for each student's name.")
    ] = False,
) -> None:
    """Write one page about the class: points, mistakes, where students are stuck, answers that look alike.

    Answers are compared with each other, with the course's solutions, and with those of earlier years.
    """
    from flashlearn.classroom.gradebook import Gradebook
    from flashlearn.classroom.pages.report import render, summary

    with ExitStack() as books:
        years = [(path.stem, books.enter_context(Gradebook.read(path))) for path in earlier or ()]
        book = books.enter_context(Gradebook.read(db))
        write(out, render(summary(book, years, anonymous)))
    console.say(f"The report is {out}.")


@app.command()
def roster(
    table: Annotated[Path, typer.Argument(help="A CSV with a column called name, or a platform's export.")],
    db: Book = BOOK,
) -> None:
    """Keep the list of the class: who hands in nothing gets a row of zeros."""
    from flashlearn.classroom.gradebook import Gradebook
    from flashlearn.classroom.roster import read_roster

    students = read_roster(read_table(table))
    with Gradebook.open(db) as book:
        book.enlist(students)
    console.say(f"The roster has {console.count(len(students), 'student')}.")


@app.command()
def override(
    student: Annotated[str, typer.Argument(help="The student's name, or the stand-in for it.")],
    exercise: Annotated[str, typer.Argument(help="The exercise.")],
    points: Annotated[float | None, typer.Option(min=0, help="Points in place of the grader's.")] = None,
    comment: Annotated[str, typer.Option(help="A comment that the student reads.")] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Take an earlier override back.")] = False,
    db: Book = BOOK,
) -> None:
    """Set the points of one exercise of one student, or write a comment. Grading again keeps both."""
    from flashlearn.classroom.gradebook import Gradebook
    from flashlearn.classroom.policy import Override

    if not remove and points is None and not comment:
        raise CourseError("`--points` or `--comment` says what to keep, `--remove` takes it back.")
    with Gradebook.open(db) as book:
        names = book.names()
        name = names.get(student, student)
        if name not in names.values():
            raise CourseError(f"There is no student called {student!r} in {db}: names are as in its report.")
        assignment, _ = book.assignment()
        if exercise not in [one.name for one in assignment.exercises]:
            raise CourseError(unknown("exercise", exercise, [one.name for one in assignment.exercises]))
        book.override(name, exercise, None if remove else Override(points, comment))
    console.say(f"Kept for {student}: write feedback, report and exports again.")


@app.command()
def policy(
    due: Annotated[str, typer.Option(help="When work is due: 2026-09-01T23:59+02:00.")] = "",
    per_day: Annotated[
        float, typer.Option(min=0, max=100, help="Percent of its points that late work loses for each day.")
    ] = 0.0,
    most: Annotated[float, typer.Option(min=0, max=100, help="Percent that it loses at most.")] = 100.0,
    attempts: Annotated[Attempts, typer.Option(help="Which version of a notebook counts.")] = Attempts.latest,
    db: Book = BOOK,
) -> None:
    """Decide about late work and attempts. The grades do not change; what is written of them does.

    Dates are those of Gradescope's metadata. Canvas marks late files without a date: they lose one day's.
    """
    from flashlearn.classroom.gradebook import Gradebook
    from flashlearn.classroom.policy import Policy, moment

    try:
        moment(due) if due else None
    except ValueError:
        raise CourseError(f"{due} is no date such as 2026-09-01T23:59+02:00.") from None
    with Gradebook.open(db) as book:
        book.decide(Policy(due, per_day, most, attempts.value))
    late = f"late work loses {per_day:g} % for each day, {most:g} % at most" if per_day else "no late policy"
    console.say(f"Kept: {late}; the {attempts.value} version of a notebook counts.")


@app.command()
def export(
    place: Annotated[Place, typer.Argument(help="Where the grades go.")],
    out: Annotated[Path, typer.Option(help="The file to write; for gradescope and prairielearn the folder.")],
    db: Book = BOOK,
    fill: Annotated[
        Path | None, typer.Option(help="canvas, moodle: the table that was exported there.")
    ] = None,
    column: Annotated[str, typer.Option(help="canvas: the assignment's column; by default its name.")] = "",
) -> None:
    """Write the grades in the format of a place.

    csv is a table of everything. canvas and moodle fill in a table that you exported there. gradescope and
    prairielearn write a results.json for each student.
    """
    from flashlearn.classroom.exports import json_results, tables
    from flashlearn.classroom.gradebook import Gradebook
    from flashlearn.classroom.pages.feedback import file_names

    with Gradebook.read(db) as book:
        assignment, titles = book.assignment()
        if place is Place.csv:
            write(out, tables.plain(book.results(), assignment))
        elif place in (Place.canvas, Place.moodle):
            table = read(fill, place)
            if place is Place.canvas:
                filled = tables.canvas(book.results(), table, column or assignment.name)
            else:
                filled = tables.moodle(book.results(), table, assignment, titles)
            write(out, filled.text)
            console.say(f"{console.count(filled.rows, 'row')} filled in.")
            for name in filled.absent:
                console.say(f"The table has no row for {name}.")
            for name in filled.ungraded:
                console.say(f"{name} is not graded completely and was left out.")
        else:
            record = json_results.gradescope if place is Place.gradescope else json_results.prairielearn
            for result, stem in file_names(book.results()):
                if result.complete:
                    found = record(result, assignment, titles)
                    write(out / stem / "results.json", json.dumps(found, indent=2, ensure_ascii=False) + "\n")
                else:
                    console.say(f"{result.student.name} is not graded completely and was left out.")
    console.say(f"The grades are in {out}.")


@app.command("export-nbgrader")
def export_nbgrader(
    folder: Annotated[Path, typer.Argument(help="The nbgrader course folder to write.")],
    handout: Annotated[Path, typer.Option(help="The folder made by `class release`.")] = Path("handout"),
    seed_file: Annotated[Path | None, SEED_FILE] = None,
) -> None:
    """Write a handout as an assignment of nbgrader's, with its metadata and configuration."""
    from flashlearn.classroom.exports.nbgrader import export
    from flashlearn.classroom.release import read_handout

    made = export(read_handout(handout, seed_file), handout, folder)
    console.say(
        f"The assignment is {made}; the next step is `nbgrader generate_assignment {made.name}` in {folder}."
    )


@app.command()
def doctor() -> None:
    """Report which sandbox layers work on this machine, each proved by an attempt to break it.

    The exit code is 1 if a layer fails, or if there are too few to grade strangers.
    """
    from flashlearn.classroom.sandbox.doctor import doctor as proofs

    found = proofs()
    for proof in found:
        console.say(str(proof))
    whole = all(proof.held for proof in found if proof.there) and any(
        proof.there for proof in found if proof.layer == "together"
    )
    console.say(
        "Strangers' notebooks can be graded here." if whole else "Do not grade strangers' notebooks here."
    )
    raise typer.Exit(0 if whole else 1)


def read(path: Path | None, place: Place) -> str:
    """The table to fill in. Raises CourseError if there is none."""
    if path is None:
        raise CourseError(f"`--fill` names the table that you exported from {place.value.title()}.")
    return read_table(path)


def read_table(path: Path) -> str:
    """A table's text. Raises CourseError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise CourseError(f"{path} cannot be read: {reason(error)}.") from error
    except ValueError as error:
        raise CourseError(f"{path} is not a table in UTF-8.") from error


def write(path: Path, text: str) -> None:
    """Write a text to a file. Raises CourseError if that fails."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise CourseError(f"{path} cannot be written: {reason(error)}.") from error


def _grader(grading: Grading, workers: int, scheduler: str) -> Cluster | Pool:
    from flashlearn.classroom.workers.cluster import Cluster
    from flashlearn.classroom.workers.pool import Pool

    return Cluster(scheduler, grading, say=console.say) if scheduler else Pool(grading, workers)


def _say(tally: RunSummary, db: Path) -> None:
    for sentence in tally.refused[:20]:
        console.say(sentence)
    if len(tally.refused) > 20:
        console.say(f"… and {len(tally.refused) - 20} more of the same kind.")
    parts = [f"{console.count(tally.graded, 'notebook')} graded"]
    parts += [f"{tally.kept} graded before"] * bool(tally.kept)
    parts += [f"{tally.broken} missing or not readable"] * bool(tally.broken)
    console.say(f"{', '.join(parts)}. The gradebook is {db}.")
    if tally.failed:
        console.say(
            f"{console.count(tally.failed, 'notebook')} could not be graded, through an error of the grader: "
            "the same command tries them again."
        )


class _Rate(ProgressColumn):
    """Notebooks per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "", style="dim")


@contextmanager
def _progress(total: int) -> Iterator:
    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console.err, transient=True) as bar:
        task = bar.add_task("grading", total=total)
        yield lambda count: bar.advance(task, count)
