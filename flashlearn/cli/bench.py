"""`flashlearn bench`: the verdict's latency and the observer's overhead, measured on this machine."""

from __future__ import annotations

import typer


def bench(ctx: typer.Context) -> None:
    """Measure how long each exercise's check takes, and what observing costs."""
    from flashlearn.course.measuring import main

    raise typer.Exit(main(list(ctx.args)) or 0)
