"""What a kernel touches: the tiles of one program, in order, with bytes, masks and what is read again.

    >>> seen = flashlearn.trace(flash_forward, q, k, v, 0.125, program=(2, 0))
    >>> seen                                  # in Jupyter: a picture, and a slider through its steps
    >>> seen["k_ptr"].again                   # the share of K's bytes that the program asked for twice
    0.0

The launcher runs on the CPU, observed, on copies of its inputs; nothing is checked and nothing recorded
of a learner's progress. `geometry` and `steps` say what it touched, `wording` and `tile_maps`
how that reads and looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from flashlearn.interpreter.observers.access_recorder import (
    LaunchRecord,
    Program,
    ProgramRecord,
    Recording,
    Tally,
    find_program,
)
from flashlearn.outcome import Place
from flashlearn.running.answer import Here
from flashlearn.running.run_modes import Traced
from flashlearn.tracing import html, text, wording
from flashlearn.tracing.program_timeline import ProgramTimeline
from flashlearn.tracing.steps import Source, Step, Steps, steps_of

__all__ = ["ProgramTimeline", "Trace", "TraceError", "trace"]


class TraceError(ValueError):
    """A call that cannot be traced: no kernel was launched, or no such launch or program exists."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback."""
        return [f"TraceError: {self}"]


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """One program of one launch. Jupyter shows it as a picture to step through, `print` as a table.

    `steps` are its accesses in order (`left_out` more were only counted). `sentence` says what ended the
    call early, at `place`; empty if nothing did. `launches` names all launches of the call. `timeline` is
    what the program did when, by the observer's model; None for a kernel in Triton.
    """

    launch: LaunchRecord
    run: ProgramRecord
    launches: tuple[str, ...]
    number: int
    sentence: str = ""
    place: Place | None = None
    note: str = ""
    timeline: ProgramTimeline | None = None

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.launch.kernel

    @property
    def program(self) -> Program:
        """The program's three indices."""
        return self.run.program

    @property
    def grid(self) -> Program:
        """How many programs there are along x, y and z."""
        return self.launch.grid

    @cached_property
    def _made(self) -> Steps:
        return steps_of(self.run, self.launch)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every access of the program, in order; the first 4096 of them."""
        return self._made.steps

    @property
    def sources(self) -> tuple[Source, ...]:
        """The texts of the kernel, and of the functions that it calls."""
        return self._made.sources

    @property
    def left_out(self) -> int:
        """Accesses that are counted in the totals but are no steps."""
        return self.run.left_out

    @property
    def totals(self) -> tuple[Tally, ...]:
        """Per tensor and verb: what this program asked for."""
        return tuple(self.run.tallies.values())

    def __getitem__(self, name: str | tuple[str, str]) -> Tally:
        """This program's total of a tensor: `seen["k_ptr"]` of its reads, `seen["dq_ptr", "write"]`.

        Without a verb it is the reads if there are any, else the writes, else the atomic updates.
        """
        return _find(self.run.tallies, name, self.kernel)

    def of_launch(self, name: str, verb: str = "") -> Tally:
        """The same of all programs of the launch together."""
        return _find(self.launch.tallies, (name, verb) if verb else name, self.kernel)

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
    makes several; by default the launch that asked for most bytes. Of a Gluon kernel it also has the
    timeline: `trace(…).timeline` alone, or a part of it by `trace(…).timeline.between(2000, 6000)`.

    A kernel that is wrong or crashes is traced as far as it came. Raises TraceError if no kernel was
    launched, if there is no such launch or program, and for arrays or lists in place of tensors.
    """
    _refuse(function, inputs, named, program)
    recording = Here(function).run((inputs, named), Traced(program)).recording
    if not recording.launches:
        ended = f" It stopped: {recording.sentence}" if recording.sentence else ""
        raise TraceError(f"{_name(function)} launched no kernel, so there is nothing to trace.{ended}")
    number = _choose_launch(recording, launch)
    chosen = recording.launches[number]
    names = tuple(one.kernel for one in recording.launches)
    run, note = _choose_run(recording, chosen, program)
    drawn = _timeline(recording, number, run.program)
    return Trace(chosen, run, names, number, recording.sentence, recording.place, note, drawn)


def _timeline(recording: Recording, number: int, program: Program) -> ProgramTimeline | None:
    events = [event for event in recording.timeline if event.launch == number]
    if not any(event.program == program for event in events) and recording.crashed and events:
        program = events[-1].program  # the one that a fault ended had touched no tensor yet
    own = tuple(event for event in events if event.program == program)
    if not own:
        return None
    return ProgramTimeline(own, recording.launches[number].kernel, program, dropped=recording.dropped)


def _refuse(function: Any, inputs: tuple, named: dict[str, Any], program: Any) -> None:
    if hasattr(function, "fn") and hasattr(function, "run"):
        raise TraceError(
            "This is a @triton.jit kernel; trace wants the launcher, the plain function that launches it."
        )
    if not callable(function):
        raise TraceError(f"trace wants the launcher itself, then its inputs, not {function!r:.60}.")
    values = (*inputs, *named.values())
    given = any(isinstance(leaf, torch.Tensor) for leaf in tree_leaves(values))
    foreign = [v for v in values if type(v).__module__.split(".")[0] in ("numpy", "jax", "jaxlib")]
    foreign += [v for v in values if isinstance(v, list | tuple | dict | str) and not given]
    if foreign:
        raise TraceError(
            f"The inputs must be torch tensors, as {_name(function)} gets them; this is a "
            f"{type(foreign[0]).__name__}. torch.as_tensor(…) makes one."
        )
    indices = (program,) if program is None or isinstance(program, int) else tuple(program)
    if program is not None and not all(type(i) is int for i in indices):
        raise TraceError(f"program is a number or a tuple of numbers such as (1, 0), not {program!r:.60}.")


def _choose_launch(recording: Recording, launch: int | str | None) -> int:
    made = recording.launches
    if launch is None:
        if recording.crashed:
            return len(made) - 1
        return max(range(len(made)), key=lambda i: made[i].requested)
    fits = [i for i, one in enumerate(made) if launch in (i, one.kernel)]
    if fits:
        return fits[0]
    names = ", ".join(f"{i} {one.kernel}" for i, one in enumerate(made))
    raise TraceError(f"There is no launch {launch!r}. The launches were: {names}.")


def _choose_run(recording: Recording, launch: LaunchRecord, program: Any) -> tuple[ProgramRecord, str]:
    count = math.prod(launch.grid)
    grid = wording.programs(launch.grid)
    if count == 0:
        raise TraceError(f"{launch.kernel} was launched on the grid {grid}: it has no programs.")
    wanted = find_program(program, launch.grid)
    if wanted is None:
        raise TraceError(
            f"There is no program {program}: {launch.kernel} has {count} of them, "
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
        note = f"Program {missing} had asked for nothing until then; shown is {shown}, which ran last."
    return launch.last, note


def _find(tallies: dict, name: str | tuple[str, str], kernel: str) -> Tally:
    tensor, *verb = (name,) if isinstance(name, str) else name
    for (names, does), tally in sorted(tallies.items(), key=lambda item: _VERBS.index(item[0][1])):
        if {tensor, f"{tensor}_ptr"} & set(names) and (not verb or verb[0] == does):
            return tally
    known = ", ".join(dict.fromkeys(tally.tensor for tally in tallies.values())) or "nothing"
    raise KeyError(f"{name}: {kernel} touches {known}")


_VERBS = ("read", "write", "update")


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)
