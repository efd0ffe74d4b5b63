"""A session observes every launch made while it is current: `launch` is the interpreter's own loop.

with observing(seed=3) as session:
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

import torch
import triton.language as tl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.runtime.jit import TensorWrapper, mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.interpreter import printing
from flashlearn.interpreter.access import find_place, place_of
from flashlearn.interpreter.arguments import bind, check_grid, describe_launch
from flashlearn.interpreter.builder import ObservedBuilder
from flashlearn.interpreter.cautions import SAME_VALUE
from flashlearn.interpreter.errors import KernelCrash, LaunchError, Todo, message_of, todo_message
from flashlearn.interpreter.gluon.timeline import Timeline
from flashlearn.interpreter.language import counting_range, integer, interpreted, scalar
from flashlearn.interpreter.launch_result import LaunchResult
from flashlearn.interpreter.loop_types import Carries
from flashlearn.interpreter.memory import Memory
from flashlearn.interpreter.observation import Launch, Observation
from flashlearn.interpreter.observers.assigned_values import Values
from flashlearn.interpreter.rewrite import python_function, rewrite
from flashlearn.interpreter.specialization import declared, specialize
from flashlearn.interpreter.spin_waits import RunLater
from flashlearn.outcome import Caution, Place

LARGEST_SHUFFLED = 1 << 20
ONE_AT_A_TIME = threading.RLock()


class Session:
    """Runs launches observed. With a `seed`, programs run in shuffled order; without, in grid order.

    `undefined` is what lanes hold that a mask hides from a load without `other=`.
    """

    devices = ("cpu", "cuda")
    specialises = True
    integer = staticmethod(integer)
    comparisons = Carries

    def __init__(self, seed: int | None = None, undefined: float = math.nan):
        self.memory = Memory(place=self.place, undefined=undefined)
        self.operations: Counter[str] = Counter()
        self.launches: list[Launch] = []
        self.order = random.Random(seed) if seed is not None else None
        self.builder: type[ObservedBuilder] = ObservedBuilder  # an experiment may put a closer observer here
        self.timeline = Timeline()
        self.values: Values | None = None  # keeps what the kernels' names hold, in a replay that asks for it
        self._twins: dict[Any, Callable] = {}
        self._semantic: Any = None
        self._builder: ObservedBuilder | None = None
        self._lent: Any = None  # what stands for Gluon's functions, while a Gluon kernel runs
        self._carries: Carries | None = None
        self._declared: dict[str, str] = {}

    @property
    def running(self) -> bool:
        """True while a program of a launch is running."""
        return self._builder is not None

    def place(self) -> Place | None:
        """The learner's line that is running, with the program that runs it."""
        return find_place(self.memory.program if self.running else None)

    def observation(self) -> Observation:
        """Everything seen so far."""
        for region in list(self.memory.by_storage.values()):
            region.settle_reads()
        unique = self._unique_bytes()
        for name, traffic in self.memory.traffic.items():
            traffic.unique_loaded, traffic.unique_stored = unique.get(name, (0, 0))
        return Observation(
            dict(self.memory.traffic),
            dict(self.operations),
            self.launches,
            self._cautions(),
            list(self.memory.undefined_loads),
            accesses=self.memory.accesses,
            timeline=tuple(self.timeline.events),
        )

    @property
    def work(self) -> int:
        """Accesses to memory so far, and what the partitions of Gluon kernels did, which takes as long."""
        return self.memory.accesses + len(self.timeline.events)

    def _cautions(self) -> list[Caution]:
        """What was noted; of a line that races, not that some of its writes happened to agree."""
        races = {(race.place.file, race.place.line) for race in self.memory.races.found if race.place}
        noted = self.memory.cautions.found.items()
        return [said for (kind, *where), said in noted if kind != SAME_VALUE or tuple(where) not in races]

    def _unique_bytes(self) -> dict[str, tuple[int, int]]:
        unique: dict[str, tuple[int, int]] = {}
        for region in list(self.memory.by_storage.values()):
            loaded, stored = unique.get(region.name, (0, 0))
            loaded += int(region.loaded.sum()) * region.unit
            stored += int(region.stored.sum()) * region.unit
            unique[region.name] = (loaded, stored)
        return unique

    # launching

    def launch(self, kernel: Any, grid: Any, args: tuple, kwargs: dict[str, Any]) -> LaunchResult:
        """Run `kernel[grid](*args, **kwargs)` program by program. Raises LaunchError, TimeLimit."""
        with ONE_AT_A_TIME:  # triton's language is patched while a launch runs, for all threads
            self._launch(kernel, grid, args, kwargs)
        return LaunchResult(kernel)

    def _launch(self, kernel: Any, grid: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        if self.running:
            raise KernelCrash("A kernel cannot launch another kernel.", self.place())
        function = python_function(kernel)
        started = time.perf_counter()
        values, options = bind(function, args, kwargs, self.devices)
        shape = check_grid(grid, values)
        host = _Host()
        values = {name: host.bring(value) for name, value in values.items()}
        tensors = [pair for name, value in values.items() for pair in _tensors(name, value)]
        addresses = self.memory.begin_launch(tensors)
        specialised = specialize(kernel, args, kwargs) if self.specialises else None
        self._declared = declared(kernel) if self.specialises else {}
        record = describe_launch(kernel, function, values, shape, options, specialised)
        gluon = getattr(kernel, "is_gluon", bool)()
        builder = self._builder_for(gluon, options, function.__name__)
        if self.memory.recorder is not None:
            self.memory.recorder.begin_launch(function, shape, values)
        try:
            with _language(gluon, builder, self.call) as (semantic, lent), printing.capped():
                self._builder, self._semantic, self._lent = builder, semantic, lent
                self._carries = self.comparisons(self.memory)
                self._run_grid(function, values, addresses, shape)
        finally:
            self._builder = self._semantic = self._lent = None
            self._twins.clear()
            self.memory.end_launch()
            self.operations.update(builder.operations)
            host.take_back()
        seconds = time.perf_counter() - started
        self.launches.append(replace(record, seconds=seconds, specialised=specialised))

    def _builder_for(self, gluon: bool, options: dict[str, Any], name: str) -> ObservedBuilder:
        if not gluon:
            return self.builder(self.memory)
        from flashlearn.interpreter.gluon.launch import builder_for

        launched = name, len(self.launches)
        return builder_for(self.builder, self.memory, options, self.order, self.timeline, launched)

    def _run_grid(self, function: Callable, values: dict, addresses: dict, shape: tuple) -> None:
        annotations = function.__annotations__
        arguments = {
            name: value if _is_constexpr(annotations.get(name)) else self._argument(name, value, addresses)
            for name, value in values.items()
        }
        program = self._twin(function)
        self._carries.kernel = program.__code__
        self._builder.set_grid_dim(*shape)
        turns, before = self.memory.turns, {}
        for number in turns.take(self._programs(math.prod(shape))):
            index = (number // (shape[1] * shape[2]), number // shape[2] % shape[1], number % shape[2])
            self._builder.grid_idx = index
            self.memory.begin_program(index, number)
            self.memory.races.visible |= before.get(number, set())
            try:
                self._builder.run_program(program, arguments)
                turns.ended()
            except RunLater:
                before[number] = before.get(number, set()) | self.memory.races.own()
                turns.stood_back(number)
            except LaunchError:
                raise
            except Exception as error:
                raise self._crash(error) from error

    def _programs(self, count: int) -> Iterable[int]:
        """Numbers of the programs in the order they run; a grid too large to shuffle runs in order."""
        if self.order is None or count > LARGEST_SHUFFLED:
            return range(count)
        return self.order.sample(range(count), count)

    def _argument(self, name: str, value: Any, addresses: dict[str, int]) -> Any:
        """A parameter's value; a number whose annotation names a type has that one."""
        kind = self._declared.get(name, "")
        if kind and not kind.startswith("*") and isinstance(value, bool | int | float):
            return scalar(value, tl.str_to_ty(kind, None))
        return self._convert(name, value, addresses)

    def _convert(self, name: str, value: Any, addresses: dict[str, int]) -> Any:
        if isinstance(value, torch.Tensor | TensorWrapper):
            kind = tl.str_to_ty(mangle_type(value), None)
            return scalar_pointer(addresses[name], kind)
        if isinstance(value, TensorDescriptor):
            return self._descriptor(name, value, addresses)
        if isinstance(value, GluonDescriptor):
            from flashlearn.interpreter.gluon.launch import descriptor

            base = self._convert(name, value.base, addresses)
            return descriptor(self._semantic, value, base, integer)
        if isinstance(value, bool):
            return scalar(value, tl.int1)
        if isinstance(value, int):
            return self.integer(value)
        if isinstance(value, float):
            return scalar(value, tl.float32)
        if isinstance(value, tuple):
            parts = [self._convert(f"{name}[{i}]", part, addresses) for i, part in enumerate(value)]
            fields = getattr(value, "_fields", None)
            named = fields and all(isinstance(part, tl.tensor) for part in parts)
            kind = tl.tuple_type([part.type for part in parts], fields) if named else None
            return tl.tuple(parts, kind)
        return value if self._lent is None else self._lent.value(value)

    def _descriptor(self, name: str, value: TensorDescriptor, addresses: dict[str, int]) -> Any:
        strides = [integer(s) for s in value.strides]
        strides[-1] = tl.constexpr(1)
        return self._semantic.make_tensor_descriptor(
            base=self._convert(name, value.base, addresses),
            shape=[integer(s) for s in value.shape],
            strides=strides,
            block_shape=[tl.constexpr(b) for b in value.block_shape],
            padding_option=value.padding,
        )

    # functions called from kernels

    def call(self, function: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """A `@triton.jit` helper called from a running kernel."""
        if not self.running:
            raise RuntimeError("A @triton.jit function is launched with kernel[grid](…), not called.")
        kwargs.pop("_semantic", None)
        kwargs.pop("_generator", None)
        return self._twin(python_function(function))(*args, **kwargs)

    def _twin(self, function: Callable) -> Callable:
        key = function.__code__
        if key not in self._twins:
            extra = {"interpreter_semantic": self._semantic, "range": counting_range}
            extra |= self._carries.names()
            self._twins[key] = rewrite(function, extra, self.values, self._lent is not None)
            if self._lent is not None:
                self._lent.exchanged(self._twins[key].__globals__)
        return self._twins[key]

    def _crash(self, error: Exception) -> LaunchError:
        place = self._place_of(error)
        if isinstance(error, AssertionError) and (todo := todo_message(message_of(error))) is not None:
            return Todo(todo, place)
        kind = type(error).__name__
        text = message_of(error)
        sentence = f"assertion failed: {text}" if kind == "AssertionError" else f"{kind}: {text}"
        return KernelCrash(sentence, place, error)

    def _place_of(self, error: Exception) -> Place | None:
        from flashlearn.interpreter.access import LEARNER_CODE

        found, step = None, error.__traceback__
        while step is not None:
            if step.tb_frame.f_code in LEARNER_CODE:
                found = place_of(step.tb_frame.f_code, step.tb_lineno, self.memory.program)
            step = step.tb_next
        return found


def scalar_pointer(address: int, kind: tl.pointer_type) -> tl.tensor:
    """A pointer tensor that holds a virtual address."""
    return scalar(address, kind)


@contextlib.contextmanager
def _language(gluon: bool, builder: ObservedBuilder, call: Callable) -> Iterator[tuple[Any, Any]]:
    """Triton's language, or Gluon's, lent to the builder: the semantic, and what Gluon's names stand for."""
    if not gluon:
        with interpreted(builder, call) as semantic:
            yield semantic, None
        return
    from flashlearn.interpreter.gluon.language import gluon_interpreted

    with gluon_interpreted(builder, call) as lent:
        yield lent


def _is_constexpr(annotation: Any) -> bool:
    return annotation is tl.constexpr or "constexpr" in str(annotation)


def _tensors(name: str, value: Any) -> list[tuple[str, torch.Tensor]]:
    if isinstance(value, TensorWrapper):
        return [(name, value.base)]
    if isinstance(value, TensorDescriptor | GluonDescriptor):
        return _tensors(name, value.base)
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if isinstance(value, tuple):
        return [pair for i, part in enumerate(value) for pair in _tensors(f"{name}[{i}]", part)]
    return []


class _Host:
    """CPU copies of a launch's GPU tensors, one per storage, so that views stay views."""

    def __init__(self) -> None:
        self.copies: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def bring(self, value: Any) -> Any:
        if isinstance(value, TensorDescriptor | GluonDescriptor):
            return replace(value, base=self.bring(value.base))
        if isinstance(value, tuple):
            parts = [self.bring(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if not isinstance(value, torch.Tensor) or value.device.type in ("cpu", "meta"):
            return value
        storage = value.untyped_storage()
        _, copy = self.copies.setdefault(storage.data_ptr(), (storage, storage.cpu()))
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(copy, value.storage_offset(), value.shape, value.stride())

    def take_back(self) -> None:
        for device, copy in self.copies.values():
            device.copy_(copy)
