"""The command `flashlearn` with `doctor`, `lab`, `lessons`, `status`, `check`, `hint`, `reset` and others.

Each command is a module of this package with a function of its name; this one joins them, and turns errors
into one sentence and exit code 2.
"""

from __future__ import annotations

import errno
import traceback
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from flashlearn.cli import (
    bench,
    check,
    classroom,
    console,
    doctor,
    files,
    lab,
    leaderboard,
    lessons,
    status,
)
from flashlearn.course.files import CourseError


class Commands(TyperGroup):
    """The group of all commands. Errors end here: a sentence for the learner, no traceback."""

    def invoke(self, ctx: typer.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except CourseError as error:
            sentence, shown = str(error), error
        except (typer.Abort, KeyboardInterrupt):
            raise
        except Exception as error:
            # typer's own (exit codes, usage errors) carry an exit code; a closed pipe is no error
            if hasattr(error, "exit_code") or getattr(error, "errno", None) == errno.EPIPE:
                raise
            sentence = f"flashlearn stopped with {type(error).__name__}: {console.one_line(error)}"
            if not ctx.params.get("debug"):
                sentence += " (`flashlearn --debug …` shows where)."
            shown = error
        if ctx.params.get("debug"):
            traceback.print_exception(shown)
        console.complain(sentence)
        raise typer.Exit(2)


app = typer.Typer(
    name="flashlearn",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version() -> str:
    """The installed version, or that of the checkout."""
    try:
        return metadata.version("flashlearn")
    except metadata.PackageNotFoundError:
        import flashlearn

        return getattr(flashlearn, "__version__", "(not installed)")


def _print_version(asked: bool) -> None:
    if asked:
        console.say(f"flashlearn {version()}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option(help="Show the traceback of an error.")] = False,
) -> None:
    """FlashLearn: derive FlashAttention's backward pass and write its kernels, checked as you go."""


app.command()(doctor.doctor)
app.command()(lab.lab)
app.command()(lessons.lessons)
app.command()(status.status)
app.command()(check.check)
app.command()(files.hint)
app.command()(files.solution)
app.command()(files.reset)
app.command()(leaderboard.leaderboard)
app.add_typer(classroom.app, name="class")
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench.bench)
