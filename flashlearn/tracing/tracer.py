"""`trace`: run a launcher observed, and show what one program of one of its launches touches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from flashlearn.interpreter.observers.access_recorder import (
    AccessRecorder,
    LaunchRecord,
    Program,
    ProgramRecord,
    Recording,
    find_program,
)
from flashlearn.report.units import plural
from flashlearn.running.answer import Here
from flashlearn.running.run_modes import Traced
from flashlearn.tracing import html, text, wording
from flashlearn.tracing.data import ProgramTrace
from flashlearn.tracing.program_timeline import ProgramTimeline


class TraceError(ValueError):
    """A call that cannot be traced: no kernel was launched, or no such launch or program exists."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback."""
        return [f"TraceError: {self}"]


@dataclass(frozen=True, eq=False, repr=False)
class Trace(ProgramTrace):
    """One program of one launch. Jupyter shows it as a picture to step through, `print` as a table."""

    def __str__(self) -> str:
        return text.render(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.render(self)


def trace(
    function: Callable,
    *inputs: Any,
    program: int | Sequence[int] | None = None,
    launch: int | str | None = None,
    **named: Any,
) -> Trace:
    """A picture of what one program reads and writes: `flashlearn.trace(flash_forward, q, k, v, 0.125)`.

    `function` is the launcher; it is called as `function(*inputs, **named)` with copies of the tensors.
    `program` is a number or a tuple of indices; by default the program in the middle of the grid, or the
    one that crashed. `launch` is the kernel's name, or the launch's number from 0 on, where the launcher
    makes several; by default the launch that requested most bytes. The trace of a Gluon kernel also has a
    timeline: `trace(…).timeline` alone, or a part of it with `trace(…).timeline.between(2000, 6000)`.

    A kernel that is wrong or crashes is traced up to that point. Raises TraceError if no kernel was
    launched, if there is no such launch or program, and for arrays or lists in place of tensors.
    """
    _refuse(function, inputs, named, program)
    recording = Here(function).run((inputs, named), Traced(program)).observations[AccessRecorder]
    if not recording.launches:
        ended = f" It stopped: {recording.sentence}" if recording.sentence else ""
        raise TraceError(f"{_name(function)} launched no kernel, so there is nothing to trace.{ended}")
    number = _choose_launch(recording, launch)
    chosen = recording.launches[number]
    names = tuple(one.kernel for one in recording.launches)
    run, note = _choose_run(recording, chosen, program)
    timeline = _timeline(recording, number, run.program)
    return Trace(chosen, run, names, number, recording.sentence, recording.place, note, timeline)


def _timeline(recording: Recording, number: int, program: Program) -> ProgramTimeline | None:
    events = [event for event in recording.timeline if event.launch == number]
    if not any(event.program == program for event in events) and recording.crashed and events:
        program = events[-1].program  # the program with the fault had touched no tensor yet
    own = tuple(event for event in events if event.program == program)
    if not own:
        return None
    return ProgramTimeline(own, recording.launches[number].kernel, program, dropped=recording.dropped)


def _refuse(function: Any, inputs: tuple, named: dict[str, Any], program: Any) -> None:
    if hasattr(function, "fn") and hasattr(function, "run"):
        raise TraceError(
            "This is a @triton.jit kernel; trace expects the launcher, the plain function that launches it."
        )
    if not callable(function):
        raise TraceError(f"trace expects the launcher itself, then its inputs, not {function!r:.60}.")
    values = (*inputs, *named.values())
    given = any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(values))
    foreign = [v for v in values if type(v).__module__.split(".")[0] in ("numpy", "jax", "jaxlib")]
    foreign += [v for v in values if isinstance(v, list | tuple | dict | str) and not given]
    if foreign:
        raise TraceError(
            f"The inputs must be torch tensors, as {_name(function)} expects them; this is a "
            f"{type(foreign[0]).__name__}. torch.as_tensor(…) converts it."
        )
    indices = (program,) if program is None or isinstance(program, int) else tuple(program)
    if program is not None and not all(type(i) is int for i in indices):
        raise TraceError(f"program is a number or a tuple of numbers such as (1, 0), not {program!r:.60}.")


def _choose_launch(recording: Recording, launch: int | str | None) -> int:
    launches = recording.launches
    if launch is None:
        if recording.crashed:
            return len(launches) - 1
        return max(range(len(launches)), key=lambda i: launches[i].requested)
    fits = [i for i, one in enumerate(launches) if launch in (i, one.kernel)]
    if fits:
        return fits[0]
    names = ", ".join(f"{i} {one.kernel}" for i, one in enumerate(launches))
    raise TraceError(f"There is no launch {launch!r}. The launches were: {names}.")


def _choose_run(recording: Recording, launch: LaunchRecord, program: Any) -> tuple[ProgramRecord, str]:
    count = math.prod(launch.grid)
    grid = wording.programs(launch.grid)
    if count == 0:
        raise TraceError(f"{launch.kernel} was launched on the grid {grid}, so it has no programs.")
    wanted = find_program(program, launch.grid)
    if wanted is None:
        raise TraceError(
            f"There is no program {program}: {launch.kernel} has {plural(count, 'program')}, "
            f"0 to {count - 1}, on a grid of {grid}."
        )
    stopped = recording.crashed and launch is recording.launches[-1]
    if not stopped or launch.last is None or (program is not None and launch.chosen is not None):
        return launch.chosen or ProgramRecord(wanted), ""
    crashed = recording.place.program if recording.place is not None else None
    missing = crashed or wanted if program is None else wanted
    note = ""
    if launch.last.program != missing:
        shown = launch.last.program
        note = (
            f"Program {missing} had not accessed memory by then; program {shown}, which ran last, is shown "
            f"instead."
        )
    return launch.last, note


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)
