"""`flashlearn check`: run notebooks without opening them, and say which exercises pass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from flashlearn.cli import completion, console
from flashlearn.course.files import Course, CourseError, Lesson, unknown
from flashlearn.course.marked_cells import mark

if TYPE_CHECKING:
    from flashlearn.cli.headless import CheckVerdict, Run

VERSION = 1
"""The version of the format that `--json` prints; it changes with every incompatible change."""

STYLES = {
    "PASS": "green",
    "NEEDS_GPU": "yellow",
    "UNDECIDED": "yellow",
    "TODO": "dim",
    "NOT_CHECKED": "dim",
}
WORDS = {
    "PASS": "passed",
    "NEEDS_GPU": "needs a GPU",
    "UNDECIDED": "not decided",
    "TODO": "not started",
    "NOT_CHECKED": "not checked",
}
UNSANDBOXED_WARNING = (
    "A notebook runs with your rights, and its own verdicts are trusted. "
    "Run a notebook that someone else wrote with --sandbox."
)
GRADED = {
    "pass": "PASS",
    "todo": "TODO",
    "stopped": "TIMEOUT",
    "missing": "NOT_CHECKED",
    "not graded": "UNDECIDED",
}
"""The verdict for a grade; all others are WRONG."""


@dataclass
class Target:
    """A notebook to run; `only` are the exercises asked for by name, empty for all of them."""

    path: Path
    lesson: Lesson | None = None
    only: tuple[str, ...] = ()


@dataclass
class Result:
    """One notebook's answer: a verdict for each exercise asked for, and sentences about the rest."""

    notebook: Path
    verdicts: list[CheckVerdict]
    problems: list[str]
    readable: bool = True

    @property
    def passed(self) -> bool:
        """Whether all asked-for exercises pass; one that needs a GPU does not count against it."""
        return self.readable and all(v.passed or v.status == "NEEDS_GPU" for v in self.verdicts)


def check(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NOTEBOOK|EXERCISE]...",
            help="Lessons (02, 02_softmax), notebooks by path, or exercises; without any, all of work/.",
            autocompletion=completion.both,
        ),
    ] = None,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds that one cell may take.")] = 300,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON (docs/check.schema.json) instead of tables.")
    ] = False,
    sandbox: Annotated[
        bool,
        typer.Option(
            "--sandbox", help="Run them in a sandbox, like a class's submissions: for notebooks by strangers."
        ),
    ] = False,
) -> None:
    """Run notebooks in a separate process and print the verdicts of their exercises.

    A notebook in work/ is run as it was last saved and is not changed; its verdicts count as
    progress, those of other notebooks do not. A notebook runs with your rights: it may read and
    change what you may, and its own verdicts are trusted. With --sandbox it may not, its numbers
    are judged in another process, and nothing counts as progress. The exit code is 0 if all
    requested exercises pass (one that needs a GPU which is not here does not count against it),
    1 if not, and 2 if a notebook cannot be read or a name is not known.
    """
    course = Course.here()
    targets = find_targets(course, what or [])
    if not sandbox and any(target.path.parent != course.work for target in targets):
        console.err.print(UNSANDBOXED_WARNING, soft_wrap=True)
    results = run_sandboxed(targets) if sandbox else run_all(course, targets, timeout)
    if as_json:
        console.say_json(to_dict(results))
    else:
        for result in results:
            _show(result)
        console.say(summary(results))
    if not all(result.readable for result in results):
        raise typer.Exit(2)
    raise typer.Exit(0 if all(result.passed for result in results) else 1)


def find_targets(course: Course, what: list[str]) -> list[Target]:
    """The notebooks to run, each once, in the order asked for. Raises CourseError for unknown names."""
    targets: dict[Path, Target] = {}
    for target in [_find(course, text) for text in what] or _all_of_work(course):
        known = targets.setdefault(target.path, target)
        if known is not target:  # a notebook asked for whole stays whole
            known.only = known.only + target.only if known.only and target.only else ()
    return list(targets.values())


def run_all(course: Course, targets: list[Target], timeout: int) -> list[Result]:
    """Run each target behind a progress bar on stderr that counts cells."""
    from flashlearn.cli import headless  # nbclient takes a second to import: only where it is needed

    results, readable = [], []
    for target in targets:
        try:
            notebook = headless.read_notebook(target.path)
        except CourseError as error:
            results.append(Result(target.path, [], [str(error)], readable=False))
            continue
        last = headless.last_cell_about(notebook, target.only) if target.only else len(notebook.cells) - 1
        readable.append((target, notebook, last))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console.err, transient=True) as bar:
        task = bar.add_task("cells", total=sum(last + 1 for _, _, last in readable))
        done = 0
        for target, notebook, last in readable:
            start, stem = done, target.path.stem
            run = headless.run_notebook(
                target.path.absolute(),
                notebook,
                timeout=timeout,
                record=target.path.absolute().parent == course.work,
                last=last,
                on_cell=lambda index, start=start, stem=stem: bar.update(
                    task, completed=start + index, description=stem
                ),
            )
            done += last + 1
            results.append(_result(target, notebook, run))
    return results


def run_sandboxed(targets: list[Target]) -> list[Result]:
    """Grade each target as a stranger's submission. Raises CourseError with too few sandbox layers."""
    from flashlearn.classroom import single_notebook

    results = []
    for target in targets:
        try:
            cells = single_notebook.cells(target.path)
            of_lesson = target.lesson.exercises if target.lesson else single_notebook.asked(cells)
            asked = target.only or of_lesson
            verdicts, problems = single_notebook.verdicts(str(target.path), cells, asked)
        except single_notebook.Unreadable as error:
            results.append(Result(target.path, [], [str(error)], readable=False))
            continue
        if not asked:
            results.append(Result(target.path, [], [f"{target.path} has no exercises."], readable=False))
            continue
        results.append(Result(target.path, [_verdict(one) for one in verdicts], problems))
    return results


def _verdict(grade: Any) -> CheckVerdict:
    """The verdict of a check for a grade."""
    from flashlearn.cli.headless import CheckVerdict

    status = GRADED.get(grade.verdict, "WRONG")
    words = {"sentence": grade.sentence, "next_step": grade.next_step, "line": grade.line}
    figures = {"cases_passed": grade.cases_passed, "cases": grade.cases, "seconds": round(grade.seconds, 3)}
    return CheckVerdict(grade.name, status, grade.verdict == "pass", **words, **figures)


def summary(results: list[Result]) -> str:
    """One line: how many of the requested exercises passed, and which do not count."""
    verdicts = [verdict for result in results for verdict in result.verdicts]
    passed = sum(verdict.passed for verdict in verdicts)
    text = f"{passed} of {console.count(len(verdicts), 'exercise')} passed"
    if waiting := sum(verdict.status == "NEEDS_GPU" for verdict in verdicts):
        text += f"; {waiting} cannot be checked without a GPU, which does not count as failed"
    return text + "."


def to_dict(results: list[Result]) -> dict[str, Any]:
    """The same as plain data: what `check --json` prints, and docs/check.schema.json describes."""
    return {
        "version": VERSION,
        "passed": all(result.passed for result in results),
        "notebooks": [
            {
                "notebook": str(result.notebook),
                "passed": result.passed,
                "exercises": [vars(verdict) for verdict in result.verdicts],
                "problems": result.problems,
            }
            for result in results
        ],
    }


def _find(course: Course, text: str) -> Target:
    path = Path(text)
    if path.is_file():
        return Target(path.absolute(), _lesson_of(course, path))
    if lesson := course.find_lesson(text):
        return Target(_copy(course, lesson), lesson)
    exercises = course.exercises()
    if text in exercises:
        return Target(_copy(course, exercises[text]), exercises[text], only=(text,))
    if path.suffix == ".ipynb" and path.name != text:
        raise CourseError(f"There is no notebook {path}.")
    stems = [lesson.stem for lesson in course.lessons()]
    raise CourseError(unknown("lesson or exercise", text, [*stems, *exercises]))


def _copy(course: Course, lesson: Lesson) -> Path:
    path = course.copy_of(lesson)
    if not path.exists():
        raise CourseError(
            f"You have no copy of {lesson.stem} yet: `flashlearn lab` puts the lessons into work/."
        )
    return path


def _all_of_work(course: Course) -> list[Target]:
    paths = {lesson: course.copy_of(lesson) for lesson in course.lessons()}
    targets = [Target(path, lesson) for lesson, path in paths.items() if path.exists()]
    if not targets:
        raise CourseError(f"There are no lessons in {course.work} yet: `flashlearn lab` puts them there.")
    return targets


def _lesson_of(course: Course, path: Path) -> Lesson | None:
    try:
        return next((lesson for lesson in course.lessons() if lesson.stem == path.stem), None)
    except CourseError:  # a notebook can be checked where no course is
        return None


def _result(target: Target, notebook: Any, run: Run) -> Result:
    from flashlearn.cli.headless import CheckVerdict

    expected = target.lesson.exercises if target.lesson else ()
    marked = filter(None, map(mark, notebook.cells))
    asked = target.only or dict.fromkeys((*expected, *marked, *run.verdicts))
    missing = "The run ended before its check."
    if run.complete:
        missing = 'No check of it ran: is there still a cell with `flashlearn.check("{0}", {0})`?'
    verdicts = [
        run.verdicts.get(name) or CheckVerdict(name, "NOT_CHECKED", False, missing.format(name))
        for name in asked
    ]
    if not verdicts:
        return Result(target.path, [], [f"{target.path} has no exercises."], readable=False)
    return Result(target.path, verdicts, run.problems)


def _show(result: Result) -> None:
    console.say(str(result.notebook))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for verdict in result.verdicts:
        word = WORDS.get(verdict.status, verdict.status.lower().replace("_", " "))
        style = STYLES.get(verdict.status, "red")
        table.add_row(Text(verdict.exercise), Text(word, style=style), Text(verdict.sentence))
    if result.verdicts:
        console.out.print(table)
    for problem in result.problems:
        console.say(f"  {problem}")
    console.say("")
