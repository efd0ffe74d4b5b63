"""The values that a kernel's names take: every assigned tile with its line, program and place in the loops.

    recorder = ValueRecorder()
    with observing(observers=(recorder,)):
        function(*inputs.values())
    recorder.events[0].array

Kernels run rewritten for it (flashlearn.interpreter.instrumentation). It may also replace values: what if
this tile had been right?
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from flashlearn.interpreter.instrumentation import Site
from flashlearn.interpreter.learner_code import Program, place_of
from flashlearn.interpreter.low_precision import cast
from flashlearn.interpreter.observer import LaunchStart, Observer
from flashlearn.observation import Place

MAX_EVENTS = 20_000
MAX_ELEMENTS = 1 << 24  # of all tiles together: 64 MiB in fp32

Scope = tuple[tuple[int, int], ...]
"""Where in its loops a program is: (loop, round) from the outermost on."""


@dataclass(frozen=True)
class Event:
    """One execution of a site. `operands` are the events whose values it read, by number."""

    number: int
    site: Site
    file: str
    text: str
    launch: int
    program: Program
    scope: Scope
    array: np.ndarray
    operands: tuple[int, ...]

    @property
    def place(self) -> Place:
        """The learner's line, with its text and the program."""
        return Place(self.file, self.site.line, self.text, self.site.function, self.program)


class RecordedValues(NamedTuple):
    """The events of one run, in order; if it is `full` there were more than are kept, and it is of no use."""

    events: tuple[Event, ...]
    full: bool


@dataclass
class ValueRecorder(Observer):
    """Keeps what is assigned. `instead` gives, by an event's number, an array to go on with."""

    instead: Mapping[int, np.ndarray] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list, init=False)
    full: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._count = 0
        self._elements = 0
        self._launch = 0
        self._scope: list[tuple[int, int]] = []
        self._known: dict[int, tuple[Any, int]] = {}  # by id: the value, which keeps its id, and its event
        self._inline: list[int] = []
        self._texts: dict[tuple[str, int], tuple[str, str]] = {}

    def observation(self) -> RecordedValues:
        return RecordedValues(tuple(self.events), self.full)

    def before_launch(self, launch: LaunchStart) -> None:
        self._launch = launch.number

    def before_program(self, program: Program, number: int) -> None:
        self._scope, self._known, self._inline = [], {}, []

    def on_value(self, site: Site, frame: FrameType, value: Any) -> Any:
        if self.full:
            return value
        number = self._count
        self._count += 1
        if number in self.instead:
            value = _tensor_like(value, self.instead[number])
        held = [frame.f_locals.get(name) for name in site.reads]
        operands = [self._known[id(x)][1] for x in held if id(x) in self._known] + self._inline
        data = np.asarray(value.handle.data)
        shape = tuple(int(n) for n in value.shape) or ()
        array = np.array(np.broadcast_to(data, shape) if shape else data.reshape(-1)[0])
        self._elements += array.size
        self.full = number >= MAX_EVENTS or self._elements > MAX_ELEMENTS
        unique = tuple(dict.fromkeys(operands))
        file, text = self._line(site, frame.f_code)
        where = self._launch, self.space.program, tuple(self._scope)
        self.events.append(Event(number, site, file, text, *where, array, unique))
        self._known[id(value)] = (value, number)
        self._inline = [*self._inline, number] if site.kind == "load" else []
        return value

    def on_loop_round(self, loop: int) -> None:
        for depth, (other, count) in enumerate(self._scope):
            if other == loop:
                self._scope[depth:] = [(loop, count + 1)]
                return
        self._scope.append((loop, 0))

    def on_loop_exit(self, loop: int) -> None:
        for depth, (other, _) in enumerate(self._scope):
            if other == loop:
                del self._scope[depth:]
                return

    def _line(self, site: Site, code: CodeType) -> tuple[str, str]:
        """The file of a site and its line's text, looked up once."""
        key = (code.co_filename, site.line)
        if key not in self._texts:
            place = place_of(code, site.line)
            self._texts[key] = (place.file, place.text)
        return self._texts[key]


def _tensor_like(value: tl.tensor, array: np.ndarray) -> tl.tensor:
    data = np.asarray(value.handle.data)
    changed = cast(np.broadcast_to(array, data.shape).astype(np.float64), data.dtype)
    return tl.tensor(TensorHandle(np.ascontiguousarray(changed), value.handle.dtype), value.type)


RECORDS = (ValueRecorder, RecordedValues, Event)
