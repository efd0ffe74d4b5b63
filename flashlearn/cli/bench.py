"""`flashlearn bench`: attention beside its peers on a GPU; how long verdicts take on any machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flashlearn.cli import console
from flashlearn.course.files import CourseError

if TYPE_CHECKING:
    from flashlearn.bench.record import Record

NO_GPU = (
    "There is no GPU here to measure on. `flashlearn bench --show FILE` shows a record of another machine."
)


def bench(
    json: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the record of attention's times to this file.")
    ] = None,
    show: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Show a record instead of measuring one.")
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Draw the record's pictures into this folder.")
    ] = None,
    length: Annotated[list[int] | None, typer.Option(help="Only this S; may be repeated.")] = None,
    flex: Annotated[bool, typer.Option(help="Time FlexAttention too; compiling it takes minutes.")] = False,
    fa4: Annotated[
        bool, typer.Option(help="Time FlashAttention-4 too, if flash-attn-4 is installed.")
    ] = False,
    tune: Annotated[
        bool, typer.Option(help="Search for the tuned kernels' best shapes on this GPU, and remember them.")
    ] = False,
    verdicts: Annotated[
        bool, typer.Option(help="How long each exercise's check takes, and what observing costs.")
    ] = False,
    memory: Annotated[
        float | None,
        typer.Option(metavar="GIB", help="Check every solution with this much of the GPU's memory."),
    ] = None,
    architectures: Annotated[
        bool,
        typer.Option(help="Compile every solution for every GPU that triton supports; no GPU is needed."),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="With --memory, --checks or --architectures: only this exercise; repeatable.",
        ),
    ] = None,
    small: Annotated[
        bool, typer.Option(help="Forward and backward of a problem so small that Python's time counts.")
    ] = False,
    checks: Annotated[
        bool, typer.Option(help="How long each check takes with nothing compiled, and once more.")
    ] = False,
    attention: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Time flashlearn.attention beside its peers, and write the record to this file.",
        ),
    ] = None,
    attention_show: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The table of such a record; with --plots also its picture."),
    ] = None,
    attention_sweep: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT", help="flashlearn.attention on this many random problems, against fp64."
        ),
    ] = None,
) -> None:
    """Time attention beside torch's on the GPU; on a machine without one, how long verdicts take."""
    from flashlearn.machine.device import has_gpu

    if checks:
        from flashlearn.course.first_check import main as cold

        cold(only)
        return
    if attention or attention_show or attention_sweep:
        _attention(attention, attention_show, attention_sweep, plots)
        return
    if tune:
        _tune()
        return
    if architectures:
        _everywhere(only)
        return
    if small:
        _small()
        return
    if memory is not None:
        _within(memory, only)
        return
    asked = json or show or plots or length or flex or fa4
    if verdicts or not (asked or has_gpu()):
        from flashlearn.course.grader_benchmarks import main

        main()
        return
    record = _record(show, length, flex, fa4)
    if json is not None:
        from flashlearn.bench.record import save

        save(record, json)
    _show(record, plots)


def _attention(file: Path | None, show: Path | None, count: int | None, plots: Path | None) -> None:
    from flashlearn.bench import attention_page, attention_speed, attention_sweep
    from flashlearn.machine.device import has_gpu

    if not show and not has_gpu():
        raise CourseError("There is no GPU here to run flashlearn.attention's kernels on.")
    if count and attention_sweep.sweep(count, say=console.say):
        raise typer.Exit(1)
    if file is not None:
        attention_speed.save(attention_speed.measure(console.say), file)
    if (record := show or file) is not None:
        found, rows = attention_speed.load(record)
        console.say(attention_page.table(found, rows))
        if plots is not None:
            plots.mkdir(parents=True, exist_ok=True)
            picture = attention_page.padding(found, rows)
            (plots / "padding.png").write_bytes(picture.png())
            console.say(f"{plots / 'padding.png'}: {picture.description}")


def _tune() -> None:
    from flashlearn.bench import tuning
    from flashlearn.machine.device import has_gpu

    if not has_gpu():
        raise CourseError("There is no GPU here to tune kernels for.")
    tuning.tune(console.say)


def _small() -> None:
    from flashlearn.bench import small_problems
    from flashlearn.machine.device import has_gpu

    if not has_gpu():
        raise CourseError(NO_GPU)
    console.out.print(small_problems.table(small_problems.measure()))


def _within(gib: float, only: list[str] | None) -> None:
    from flashlearn.bench import limited_memory
    from flashlearn.course.check import check
    from flashlearn.course.right_answers import answer
    from flashlearn.lessons import all_exercises, find
    from flashlearn.machine.device import has_gpu

    if not has_gpu():
        raise CourseError("There is no GPU here whose memory could be limited.")
    try:
        limited_memory.limit(gib)
    except ValueError as error:
        raise CourseError(f"{error}") from None
    exercises = [find(name) for name in only] if only else list(all_exercises().values())
    rows = limited_memory.run(
        exercises, lambda one: check(one.name, answer(one), demo=True), console.err.print
    )
    console.out.print(limited_memory.table(rows, gib))
    if not all(row.passed or row.status == "needs a GPU" for row in rows):
        raise typer.Exit(1)


def _everywhere(only: list[str] | None) -> None:
    from flashlearn.bench import architectures
    from flashlearn.course.answers import solution
    from flashlearn.exercise import Kind
    from flashlearn.lessons import all_exercises, find

    exercises = [find(name) for name in only] if only else list(all_exercises().values())
    rows: list[architectures.Row] = []
    for exercise in exercises:
        if exercise.kind is Kind.KERNEL:
            rows += (found := architectures.rows(exercise, solution(exercise), compiled=True))
            console.err.print(f"{exercise.name}: {len(found)} kernels × architectures")
    console.out.print(architectures.table(rows))
    console.out.print(architectures.summary(rows))
    if not all(row.fits or row.absent for row in rows):
        raise typer.Exit(1)


def _record(show: Path | None, length: list[int] | None, flex: bool, fa4: bool) -> Record:
    from flashlearn.bench import measure, problems, record
    from flashlearn.machine.device import has_gpu

    if show is not None:
        try:
            return record.load(show)
        except (OSError, record.InvalidRecord) as error:
            raise CourseError(f"{error}") from None
    if not has_gpu():
        raise CourseError(NO_GPU)
    table = problems.grid(tuple(length)) if length else None
    return measure.run(flex, table, console.err.print, fa4)


def _show(record: Record, plots: Path | None) -> None:
    from flashlearn.bench.tables import tables

    for part in tables(record):
        console.say(part) if isinstance(part, str) else console.out.print(part)
    if plots is not None:
        from flashlearn.bench.plots import every

        plots.mkdir(parents=True, exist_ok=True)
        for name, picture in every(record).items():
            (plots / f"{name}.png").write_bytes(picture.png())
            console.say(f"{plots / name}.png: {picture.description}")
