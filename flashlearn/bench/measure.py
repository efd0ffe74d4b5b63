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
from flashlearn.bench.record import Cell, MemoryUse, Record
from flashlearn.bench.validation import validation_error
from flashlearn.machine import ceilings, device
from flashlearn.machine.timers import Timer, WallClockTimer, default_timer, peak_memory, time_in_turns
from flashlearn.running.precompiler import Precompiler

COMPILE_SECONDS = 90.0
"""Seconds that compiling beforehand may take; what is not done then is compiled at its first call."""
Say = Callable[[str], None]


def run(
    flex: bool = False, table: Iterable[Problem] | None = None, say: Say = print, fa4: bool = False
) -> Record:
    """Measure everything on this GPU, with a line for each step."""
    found = contestants(flex, fa4)
    left_out: dict[str, str] = {}
    wanted = tuple(shapes.grid() if table is None else table)
    say("Compiling.")
    precompile(found, (*shapes.CHECKED, *wanted, *shapes.SMALL))
    say("Checking.")
    for one in list(found):
        if reason := validation_error(one):
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
    memory = [held for problem in shapes.REMEMBERED for held in measure_memory(problem, found)]
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


def precompile(found: Iterable[Contestant], problems: Iterable[Problem]) -> None:
    """Have compiled, many at a time, what the course's launchers launch for these problems."""
    problems = list(problems)
    with Precompiler(patience=COMPILE_SECONDS) as precompiler, precompiler.dry():
        for one in found:
            for problem in problems if one.compiled else ():
                calls = one.prepare(problem.draw())
                for direction in ("forward", "backward"):
                    with contextlib.suppress(Exception):  # raised again, and reported, at the check
                        calls[direction]()


def time_problem(
    problem: Problem,
    found: Iterable[Contestant],
    left_out: dict[str, str],
    timer: Timer | None = None,
    on: str = "cuda",
) -> list[Cell]:
    """Every direction of one problem, the contestants in turns."""
    given = problem.draw(on)
    ready = {one.name: one.prepare(given) for one in found if problem.S <= one.longest}
    cells: list[Cell] = []
    for direction in DIRECTIONS:
        cells += _timed(problem, ready, direction, timer or default_timer(), left_out)
    _forget()
    return cells


def time_small(
    problem: Problem,
    found: Iterable[Contestant],
    left_out: dict[str, str],
    timer: Timer | None = None,
    on: str = "cuda",
) -> list[Cell]:
    """Wall times of a problem so small that Python counts: forward, and both passes through autograd."""
    given = problem.draw(on)
    ready = {one.name: one.prepare(given) for one in found if one.small}
    timer = timer or WallClockTimer()
    forward = _timed(problem, ready, "forward", timer, left_out)
    through = {name: {**calls, "both": calls["autograd"]} for name, calls in ready.items()}
    return [*forward, *_timed(problem, through, "both", timer, left_out)]


def _timed(
    problem: Problem, ready: dict[str, Calls], direction: str, timer: Timer, left_out: dict[str, str]
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
    figures = time_in_turns([calls[direction] for calls in ready.values()], timer)
    return [
        Cell(name, problem, direction, one.median, one.spread, one.rounds, peaks[name])
        for name, one in zip(ready, figures, strict=True)
    ]


def measure_memory(problem: Problem, found: Iterable[Contestant], on: str = "cuda") -> list[MemoryUse]:
    """What forward and backward pass together hold at their peak; nothing of those that find no memory."""
    held = []
    given = problem.draw(on)
    for one in found:
        with contextlib.suppress(RuntimeError):
            peak = peak_memory(one.prepare(given)["both"])
            held += [MemoryUse(one.name, problem, peak)] if peak is not None else []
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
        "clocks": dict(zip(fields, device.nvidia_smi_fields(*fields), strict=True)),
    }


def versions() -> dict[str, str]:
    """Of what computes."""
    cudnn = torch.backends.cudnn.version() if torch.version.cuda else None
    peers = {name: version for name in ("flash-attn-4",) if (version := _version_of(name))}
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cuda": torch.version.cuda or "",
        "cudnn": str(cudnn or ""),
        "flashlearn": _version_of("flashlearn"),
        **peers,
    }


def _version_of(package: str) -> str:
    """The version of an installed package; "" of one that is not."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
