"""Every solution's kernels, compiled for every GPU that triton supports; none of them need be here.

    $ flashlearn bench --architectures    # kernel, architecture, what a block needs, does it fit

Kernels are those that a launcher launches on a GPU in its exercise's cases, one for each set of types,
constants and divisibilities. In Gluon they name a Hopper GPU's own instructions, and are for sm_90 alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from rich.table import Table

from flashlearn.compiler import compile_launch
from flashlearn.compiler.shared_memory import needed
from flashlearn.exercise import Exercise, Kind
from flashlearn.interpreter.dry_run import planned
from flashlearn.interpreter.specialization import is_gluon
from flashlearn.judging import draws
from flashlearn.machine.device import FP8_MIN_TARGET, GLUON_ONLY, KIB, SHARED_PER_BLOCK
from flashlearn.observation import Launch
from flashlearn.processes.forked import Forked
from flashlearn.running.answer import Here

TARGETS = tuple(SHARED_PER_BLOCK)
NO_E4M3 = "needs e4m3, sm_89 or newer"
SECONDS = 300
MOST = 16  # compilers at a time


@dataclass(frozen=True)
class Row:
    """A kernel on an architecture: its shared memory; registers and spilled bytes if compiled; or why not."""

    exercise: str
    case: str
    kernel: str
    target: int
    shared: int | None
    registers: int | None = None
    spilled: int | None = None
    error: str = ""

    @property
    def fits(self) -> bool:
        """Whether a block can have what it needs."""
        return self.shared is not None and self.shared <= SHARED_PER_BLOCK[self.target]

    @property
    def absent(self) -> bool:
        """Whether the kernel is not meant for this architecture."""
        return self.error == NO_E4M3


def launches(exercise: Exercise, function: Callable) -> list[tuple[str, Launch]]:
    """What the function launches on a GPU: each distinct kernel with the case that it was first seen in."""
    caller = Here(function, exercise)._caller()
    cases = [*(c for c in exercise.cases if c.compiled), *filter(None, [exercise.timed.case])]
    found: dict[tuple, tuple[str, Launch]] = {}
    for case in cases if exercise.kind is Kind.KERNEL else ():
        given = draws.without_data(exercise, case)
        for launch in planned(caller.call, dict(given), 20.0) if given is not None else ():
            if launch.specialised is not None:
                found.setdefault(launch.specialised.key, (case.name, launch))
    return list(found.values())


def rows(
    exercise: Exercise, function: Callable, compiled: bool, targets: Iterable[int] = TARGETS
) -> list[Row]:
    """A row for each kernel and architecture; `compiled` to the end, or until shared memory is known.

    The compiler works in a forked process: it may fail an assertion.
    """
    asked = tuple(targets)
    with Forked(
        lambda send: [send(one) for one in _asked(exercise, function, compiled, asked)], SECONDS
    ) as fork:
        found = [Row(*one) for one in fork.answers(10.0 * SECONDS)]
        if fork.ended:
            found.append(Row(exercise.name, "", "", 0, None, error=f"the compiler ended with {fork.ended}"))
    return found


def _asked(
    exercise: Exercise, function: Callable, compiled: bool, targets: tuple[int, ...]
) -> Iterator[list]:
    """In the forked process: the fields of each row, in the order of the launches."""
    torch.cuda.is_available = lambda: False  # CUDA cannot be used in a fork
    jobs = [
        (case, launch, tuple(t for t in (GLUON_ONLY if is_gluon(launch.kernel) else targets) if t in targets))
        for case, launch in launches(exercise, function)
    ]
    at_once = min(MOST, os.cpu_count() or 1) if compiled else 1  # planning is done in this very process
    look = _compiled if compiled else _planned
    with ThreadPoolExecutor(at_once) as pool:
        for (case, launch, there), found in zip(
            jobs, pool.map(lambda job: look(*job[1:]), jobs), strict=True
        ):
            for target, figures in zip(there, found, strict=True):
                yield [exercise.name, case, launch.name, target, *figures]


def _planned(launch: Launch, targets: tuple[int, ...]) -> list[tuple]:
    return [_planned_for(launch, target) for target in targets]


def _planned_for(launch: Launch, target: int) -> tuple:
    try:
        return (needed(launch.specialised, target), None, None, "")
    except Exception as error:
        return (None, None, None, _reason(f"{type(error).__name__}: {error}", target))


def _compiled(launch: Launch, targets: tuple[int, ...]) -> list[tuple]:
    budgets = compile_launch(launch, targets=targets, timeout=120.0 * max(len(targets), 1)) if targets else ()
    return [
        (None, None, None, _reason(made.error, target))
        if made.shared_bytes is None
        else (made.shared_bytes, made.registers, made.spill_bytes, "")
        for target, made in zip(targets, budgets, strict=True)
    ]


def _reason(text: str, target: int) -> str:
    return NO_E4M3 if "fp8e4nv" in text and target < FP8_MIN_TARGET else text[-200:]


def summary(found: Iterable[Row]) -> Table:
    """For each architecture: kernels that compile, those that fit, and the largest need of shared memory."""
    found, shown = (
        list(found),
        Table("architecture", "kernels", "compile", "fit", "most, KiB", "a block has, KiB"),
    )
    for target in TARGETS:
        there = [row for row in found if row.target == target and not row.absent]
        most = max((row.shared or 0 for row in there), default=0)
        counts = len(there), sum(row.shared is not None for row in there), sum(row.fits for row in there)
        shown.add_row(
            f"sm_{target}", *map(str, counts), f"{most / KIB:.1f}", str(SHARED_PER_BLOCK[target] // KIB)
        )
    return shown


def table(found: Iterable[Row]) -> Table:
    """The rows: of each kernel on each architecture the launch that needs most shared memory."""
    largest: dict[tuple, Row] = {}
    for row in found:
        key = (row.exercise, row.kernel, row.target)
        if key not in largest or (row.shared or 0) > (largest[key].shared or 0):
            largest[key] = row
    shown = Table("exercise", "kernel", "architecture", "shared, KiB", "registers", "spilled", "fits")
    for row in largest.values():
        figures = ["–" if one is None else str(one) for one in (row.registers, row.spilled)]
        shared = "–" if row.shared is None else f"{row.shared / KIB:.1f}"
        fits = row.error or ("yes" if row.fits else "no")
        shown.add_row(row.exercise, row.kernel, f"sm_{row.target}", shared, *figures, fits)
    return shown
