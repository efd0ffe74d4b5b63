"""A session observes every launch made while it is current: `launch` is the interpreter's own loop.

with observing(seed=3) as (session, _):
    z = scaled_add(2.0, x, y)
session.observation().traffic["x_ptr"].loaded
"""

from __future__ import annotations

import contextlib
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from flashlearn.interpreter import printing
from flashlearn.interpreter.arguments import (
    ArgumentValues,
    HostCopies,
    bind,
    check_grid,
    describe_launch,
    tensors_in,
)
from flashlearn.interpreter.builder import ObservedBuilder
from flashlearn.interpreter.cautions import SAME_VALUE
from flashlearn.interpreter.errors import (
    NO_MESSAGE,
    KernelCrash,
    LaunchError,
    NeedsGpu,
    Todo,
    message_of,
    todo_message,
)
from flashlearn.interpreter.gluon.timeline import Timeline
from flashlearn.interpreter.instrumentation import Instrumentation
from flashlearn.interpreter.language import counting_range, integer, interpreted
from flashlearn.interpreter.learner_code import Program, find_place, place_of_error
from flashlearn.interpreter.loop_types import Carries
from flashlearn.interpreter.memory import Memory
from flashlearn.interpreter.observer import LaunchStart
from flashlearn.interpreter.observers.missing_barriers import MissingBarriers
from flashlearn.interpreter.observers.races import RaceDetector
from flashlearn.interpreter.observers.traffic import TrafficCounter
from flashlearn.interpreter.observers.undefined_values import UndefinedLanes, UninitializedMemory
from flashlearn.interpreter.results import PublishedResults
from flashlearn.interpreter.rewrite import python_function, rewrite
from flashlearn.interpreter.specialization import declared, specialize
from flashlearn.interpreter.spin_waits import RunLater, SpinWaits
from flashlearn.observation import Caution, Launch, Observation, Place

LARGEST_SHUFFLED = 1 << 20
LAUNCH_LOCK = threading.RLock()
"""Triton's language is patched while a launch runs, for all threads."""


COMPILED_KERNEL_MEMBERS = frozenset(
    {"asm", "function", "kernel", "metadata", "module", "n_max_threads", "n_regs", "n_spills", "hash", "name"}
    | {"run", "shared", "src", "launch_metadata", "packed_metadata", "_init_handles"}
)
"""What a compiled kernel of triton's has."""


class Session:
    """Runs launches observed. With a `seed`, programs run in shuffled order; without, in grid order.

    `undefined` is what lanes hold that a mask hides from a load without `other=`. Further observers subscribe
    to `memory`. `builder` computes what kernels compute: an experiment may put another one there.
    """

    devices = ("cpu", "cuda")
    specializes = True
    integer = staticmethod(integer)
    comparisons = Carries
    memory_type = Memory

    def __init__(self, seed: int | None = None, undefined: float = math.nan):
        self.memory = self.memory_type(place=self.place, undefined=undefined)
        self.spin_waits, self.traffic, self.undefined_lanes = SpinWaits(), TrafficCounter(), UndefinedLanes()
        self.races = self.memory.races = RaceDetector()
        self.memory.subscribe(self.spin_waits, self.traffic, self.undefined_lanes, UninitializedMemory())
        self.memory.subscribe(self.races, MissingBarriers())
        self.operations: Counter[str] = Counter()
        self.launches: list[Launch] = []
        self.order = random.Random(seed) if seed is not None else None
        self.builder: type[ObservedBuilder] = ObservedBuilder
        self.timeline = Timeline()
        self.instrumentation = Instrumentation()
        self._copies: dict[Any, Callable] = {}
        self._semantic: Any = None
        self._builder: ObservedBuilder | None = None
        self._gluon: Any = None  # Gluon's language, while a Gluon kernel runs
        self._carries: Carries | None = None

    @property
    def running(self) -> bool:
        """True while a program of a launch is running."""
        return self._builder is not None

    def place(self) -> Place | None:
        """The learner's line that is running, with the program that runs it."""
        return find_place(self.memory.program if self.running else None)

    def observation(self) -> Observation:
        """Everything seen so far."""
        return Observation(
            self.traffic.by_name(),
            dict(self.operations),
            self.launches,
            self._cautions(),
            self.undefined_lanes.observation(),
            accesses=self.memory.accesses,
            timeline=self.timeline.timed(),
            tensors=self.traffic.by_tensor(),
        )

    @property
    def work(self) -> int:
        """Accesses to memory so far, and what the partitions of Gluon kernels did, which takes as long."""
        return self.memory.accesses + len(self.timeline.events)

    def _cautions(self) -> list[Caution]:
        """What was noted; of a line that races, not that some of its writes happened to agree."""
        races = {(race.place.file, race.place.line) for race in self.races.found if race.place}
        noted = self.memory.cautions.found.items()
        return [
            caution for (kind, *where), caution in noted if kind != SAME_VALUE or tuple(where) not in races
        ]

    # launching

    def launch(self, kernel: Any, grid: Any, args: tuple, kwargs: dict[str, Any]) -> LaunchResult:
        """Run `kernel[grid](*args, **kwargs)` program by program. Raises LaunchError, TimeLimit."""
        with LAUNCH_LOCK:
            self._launch(kernel, grid, args, kwargs)
        return LaunchResult(kernel)

    def _launch(self, kernel: Any, grid: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        if self.running:
            raise KernelCrash("A kernel cannot launch another kernel.", self.place())
        function = python_function(kernel)
        started = time.perf_counter()
        values, options = bind(function, args, kwargs, self.devices)
        shape = check_grid(grid, values)
        host = HostCopies()
        values = {name: host.fetch(value) for name, value in values.items()}
        addresses = self.memory.admit([pair for item in values.items() for pair in tensors_in(*item)])
        specialization = specialize(kernel, args, kwargs) if self.specializes else None
        types = declared(kernel) if self.specializes else {}
        record = describe_launch(kernel, function, values, shape, options, specialization)
        is_gluon = getattr(kernel, "is_gluon", bool)()
        builder = self._builder_for(is_gluon, options, function.__name__)
        start = LaunchStart(len(self.launches), function, shape, values)
        for publish in self.memory.events.before_launch:
            publish(start)
        try:
            with _language(is_gluon, builder, self.call) as (semantic, gluon), printing.capped():
                self._builder, self._semantic, self._gluon = builder, semantic, gluon
                self._carries = self.comparisons(self.memory)
                converted = ArgumentValues(semantic, addresses, types, self.integer, gluon)
                self._run_grid(function, values, converted, shape)
        finally:
            self._builder = self._semantic = self._gluon = None
            self._copies.clear()
            self.memory.dismiss()
            self.operations.update(builder.operations)
            host.write_back()
        seconds = time.perf_counter() - started
        self.launches.append(replace(record, seconds=seconds, specialised=specialization))

    def _builder_for(self, is_gluon: bool, options: dict[str, Any], name: str) -> ObservedBuilder:
        kind = self.builder
        if self.memory.events.on_result:
            kind = type(f"Published{kind.__name__}", (PublishedResults, kind), {})
        if not is_gluon:
            return kind(self.memory)
        from flashlearn.interpreter.gluon.launch import builder_for

        launch = name, len(self.launches)
        return builder_for(kind, self.memory, options, self.order, self.timeline, launch)

    def _run_grid(  # `values` are read from this frame by flashlearn.running.advice.error_context
        self, function: Callable, values: dict[str, Any], converted: ArgumentValues, shape: Program
    ) -> None:
        arguments = converted.of(function, values)
        program = self._runnable(function)
        self._carries.kernel = program.__code__
        self._builder.set_grid_dim(*shape)
        self.memory.grid = shape
        for number in self.spin_waits.take(self._programs(math.prod(shape))):
            index = (number // (shape[1] * shape[2]), number // shape[2] % shape[1], number % shape[2])
            self._builder.grid_idx = self.memory.program = index
            for publish in self.memory.events.before_program:
                publish(index, number)
            try:
                self._builder.run_program(program, arguments)
                self.spin_waits.program_ended()
            except RunLater:
                self.races.postpone()
                self.spin_waits.postpone(number)
            except LaunchError:
                raise
            except Exception as error:
                raise self._crash(error) from error

    def _programs(self, count: int) -> Iterable[int]:
        """Numbers of the programs in the order they run; a grid too large to shuffle runs in order."""
        if self.order is None or count > LARGEST_SHUFFLED:
            return range(count)
        return self.order.sample(range(count), count)

    # functions called from kernels

    def call(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A `@triton.jit` helper called from a running kernel."""
        if not self.running:
            raise RuntimeError("A @triton.jit function is launched with kernel[grid](…), not called.")
        kwargs.pop("_semantic", None)
        kwargs.pop("_generator", None)
        return self._runnable(python_function(function))(*args, **kwargs)

    def _runnable(self, function: Callable) -> Callable:
        """The rewritten copy of a kernel or helper, one for each launch."""
        key = function.__code__
        if key not in self._copies:
            extra = {"interpreter_semantic": self._semantic, "range": counting_range}
            extra |= self._carries.names()
            events, instrumentation = self.memory.events, None
            if events.on_value:
                instrumentation = self.instrumentation
                extra |= instrumentation.hooks(events)
            self._copies[key] = rewrite(function, extra, instrumentation, self._gluon is not None)
            if self._gluon is not None:
                self._gluon.exchanged(self._copies[key].__globals__)
        return self._copies[key]

    def _crash(self, error: Exception) -> LaunchError:
        place = place_of_error(error, self.memory.program)
        if isinstance(error, AssertionError) and (todo := todo_message(message_of(error))) is not None:
            return Todo(todo, place)
        kind = type(error).__name__
        text = message_of(error)
        sentence = f"{kind}: {text}"
        if kind == "AssertionError":
            silent = text == NO_MESSAGE
            sentence = (
                "An assertion fails here, without a message." if silent else f"assertion failed: {text}"
            )
        return KernelCrash(sentence, place, error)


@contextlib.contextmanager
def _language(is_gluon: bool, builder: ObservedBuilder, call: Callable) -> Iterator[tuple[Any, Any]]:
    """Triton's language, or Gluon's, patched for the builder: the semantic, and Gluon's language or None."""
    if not is_gluon:
        with interpreted(builder, call) as semantic:
            yield semantic, None
        return
    from flashlearn.interpreter.gluon.language import gluon_interpreted

    with gluon_interpreted(builder, call) as language:
        yield language


class LaunchResult:
    """Stands for the compiled kernel of a launch that ran interpreted.

    Raises NeedsGpu for what only a compiled kernel has.
    """

    def __init__(self, kernel: Any):
        self._kernel = kernel

    def __getattr__(self, name: str) -> Any:
        if name in COMPILED_KERNEL_MEMBERS:
            raise NeedsGpu(
                f"`.{name}` belongs to a compiled kernel, and this launch ran interpreted: it needs a GPU. A "
                "check shows registers, spills and shared memory anyway, beside its verdict."
            )
        raise AttributeError(f"a compiled kernel has no {name}")

    def __getitem__(self, grid: Any) -> Any:
        return self._kernel[grid]

    def __repr__(self) -> str:
        return f"<a launch of {getattr(self._kernel, '__name__', 'a kernel')}, interpreted>"
