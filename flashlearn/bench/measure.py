"""The whole run: check every contestant, compile what it launches, time it, and make a record of it."""

from __future__ import annotations

import contextlib
import gc
import platform
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import torch
import triton

from flashlearn.bench import problems as shapes
from flashlearn.bench.contestants import Calls, Contestant, contestants
from flashlearn.bench.problems import DIRECTIONS, Problem
from flashlearn.bench.record import Cell, Held, Record
from flashlearn.bench.validation import refused
from flashlearn.machine import ceilings, device
from flashlearn.machine.timers import ByTheClock, Stopwatch, contest, here, peak_memory
from flashlearn.running.precompiler import Precompiling

COMPILING = 90.0
"""Seconds that compiling beforehand may take; what is not done then is compiled at its first call."""
Say = Callable[[str], None]


def run(flex: bool = False, table: Iterable[Problem] | None = None, say: Say = print) -> Record:
    """Measure everything on this GPU, with a line for each step."""
    found = contestants(flex)
    left_out: dict[str, str] = {}
    wanted = tuple(shapes.grid() if table is None else table)
    say("Compiling.")
    compile_beforehand(found, (*shapes.CHECKED, *wanted, *shapes.SMALL))
    say("Checking.")
    for one in list(found):
        if reason := refused(one):
            left_out[one.name] = reason
            found.remove(one)
            say(f"{one.title} is left out. {reason}")
    reached = ceilings.ceilings()
    cells: list[Cell] = []
    for problem in wanted:
        cells += time_problem(problem, [one for one in found if one.table], left_out)
        say(f"{problem.name}: {', '.join(_forward_rates(cells, problem))} TFLOP/s forward")
    say("Small problems, and memory.")
    small = [cell for problem in shapes.SMALL for cell in time_small(problem, found, left_out)]
    memory = [held for problem in shapes.REMEMBERED for held in hold(problem, found)]
    return Record(
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        device=this_device(),
        versions=versions(),
        reached={"product": reached.product, "copy": reached.copy},
        contestants={one.name: one.title for one in found},
        left_out=left_out,
        cells=tuple(cells),
        small=tuple(small),
        memory=tuple(memory),
    )


def compile_beforehand(found: Iterable[Contestant], problems: Iterable[Problem]) -> None:
    """Have compiled, many at a time, what the course's launchers launch for these problems."""
    problems = list(problems)
    with Precompiling(patience=COMPILING) as precompiling, precompiling.dry():
        for one in found:
            for problem in problems if one.compiled else ():
                calls = one.prepare(problem.draw())
                for direction in ("forward", "backward"):
                    with contextlib.suppress(Exception):  # it comes again, and is told, when it is checked
                        calls[direction]()


def time_problem(
    problem: Problem,
    found: Iterable[Contestant],
    left_out: dict[str, str],
    stopwatch: Stopwatch | None = None,
    on: str = "cuda",
) -> list[Cell]:
    """Every direction of one problem, the contestants in turns."""
    given = problem.draw(on)
    ready = {one.name: one.prepare(given) for one in found if problem.S <= one.longest}
    cells: list[Cell] = []
    for direction in DIRECTIONS:
        cells += _timed(problem, ready, direction, stopwatch or here(), left_out)
    _forget()
    return cells


def time_small(
    problem: Problem,
    found: Iterable[Contestant],
    left_out: dict[str, str],
    stopwatch: Stopwatch | None = None,
    on: str = "cuda",
) -> list[Cell]:
    """Wall times of a problem so small that Python counts: forward, and both passes through autograd."""
    given = problem.draw(on)
    ready = {one.name: one.prepare(given) for one in found if one.small}
    stopwatch = stopwatch or ByTheClock()
    forward = _timed(problem, ready, "forward", stopwatch, left_out)
    through = {name: {**calls, "both": calls["autograd"]} for name, calls in ready.items()}
    return [*forward, *_timed(problem, through, "both", stopwatch, left_out)]


def _timed(
    problem: Problem, ready: dict[str, Calls], direction: str, stopwatch: Stopwatch, left_out: dict[str, str]
) -> list[Cell]:
    """One direction; a contestant that fails here is out of this problem, and the reason is noted."""
    peaks: dict[str, int | None] = {}
    for name in list(ready):
        try:
            ready[name][direction]()
            peaks[name] = peak_memory(ready[name][direction])
        except RuntimeError as error:  # no memory for it, or no kernel for this shape
            left_out[f"{name}, {problem.name}, {direction}"] = str(error).strip().splitlines()[0]
            del ready[name]
            _forget()
    figures = contest([calls[direction] for calls in ready.values()], stopwatch)
    return [
        Cell(name, problem, direction, one.median, one.spread, one.rounds, peaks[name])
        for name, one in zip(ready, figures, strict=True)
    ]


def hold(problem: Problem, found: Iterable[Contestant], on: str = "cuda") -> list[Held]:
    """What forward and backward pass together hold at their peak; nothing of those that find no memory."""
    held = []
    given = problem.draw(on)
    for one in found:
        with contextlib.suppress(RuntimeError):
            peak = peak_memory(one.prepare(given)["both"])
            held += [Held(one.name, problem, peak)] if peak is not None else []
        _forget()
    return held


def _forget() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _forward_rates(cells: list[Cell], problem: Problem) -> list[str]:
    mine = [cell for cell in cells if cell.problem == problem and cell.direction == "forward"]
    return [f"{cell.contestant} {cell.rate / 1e12:.0f}" for cell in mine]


def this_device() -> dict[str, Any]:
    """The GPU as it is now: clocks are read, never set."""
    fields = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "power.limit")
    there = device.has_gpu()
    return {
        "gpu": torch.cuda.get_device_name() if there else "none",
        "capability": list(torch.cuda.get_device_capability()) if there else [],
        "bytes": torch.cuda.get_device_properties(0).total_memory if there else 0,
        "driver": device.driver(),
        "clocks": dict(zip(fields, device.asked(*fields), strict=True)),
    }


def versions() -> dict[str, str]:
    """Of what computes."""
    cudnn = torch.backends.cudnn.version() if torch.version.cuda else None
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cuda": torch.version.cuda or "",
        "cudnn": str(cudnn or ""),
        "flashlearn": _own_version(),
    }


def _own_version() -> str:
    try:
        return metadata.version("flashlearn")
    except metadata.PackageNotFoundError:
        return ""
