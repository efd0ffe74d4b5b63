"""`python -m flashlearn.course.authoring build [LESSONS]`, and `… check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from flashlearn.course import authoring

app = typer.Typer(help="Builds the lessons' notebooks from their sources.", no_args_is_help=True)
Root = Annotated[
    Path | None, typer.Option(help="The folder that holds flashlearn/lessons/.", show_default=False)
]


@app.command()
def build(
    lessons: Annotated[
        list[str] | None, typer.Argument(help="02, 02_softmax or a path; all if none.")
    ] = None,
    execute: Annotated[bool, typer.Option(help="Run the solutions whose code changed.")] = True,
    force: Annotated[
        bool, typer.Option("--force", help="Run them all, whatever measured the outputs.")
    ] = False,
    root: Root = None,
) -> None:
    """Write notebooks/*.ipynb and solutions/*.ipynb."""
    console = Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console, transient=True) as bar:
            tasks: dict[str, int] = {}

            def progress(lesson: str, done: int, of: int) -> None:
                if lesson not in tasks:
                    tasks[lesson] = bar.add_task(lesson, total=of)
                bar.update(tasks[lesson], completed=done)

            results = authoring.build(lessons, execute, force=force, root=root, progress=progress)
    except (authoring.SourceError, authoring.CourseError) as error:
        _fail(str(error))
    except authoring.ExecutionError as error:
        console.print(error.trace, markup=False, highlight=False, style="dim")
        _fail(str(error))
    for result in results:
        files = ", ".join(f"{path.parent.name}/{path.name}" for path in result.written) or "nothing to write"
        console.print(f"[bold]{result.lesson}[/]  {escape(f'{result.outputs}; {files}')}", soft_wrap=True)
        for place in result.stale:
            console.print(f"    stale, without outputs: {escape(place)}", soft_wrap=True, highlight=False)


@app.command()
def check(root: Root = None) -> None:
    """Name the notebooks that are not what build would write; exit code 1 if there are any."""
    try:
        stale = authoring.check(root)
    except authoring.CourseError as error:
        _fail(str(error))
    if stale:
        _fail("\n".join(map(str, stale)))
    typer.echo("The notebooks are what their sources say.")


def _fail(message: str) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(1)


if __name__ == "__main__":
    app()
