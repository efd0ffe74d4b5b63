"""`flashlearn bench`: the verdict's latency and the observer's overhead, measured on this machine."""

from __future__ import annotations

import importlib.util

import typer

from flashlearn.course import CourseError


def bench(ctx: typer.Context) -> None:
    """Measure how long each exercise's check takes, and what observing costs."""
    if importlib.util.find_spec("flashlearn.bench") is None:
        raise CourseError("This version of flashlearn has no benchmarks to run.")
    from flashlearn.bench import main

    raise typer.Exit(main(list(ctx.args)) or 0)
