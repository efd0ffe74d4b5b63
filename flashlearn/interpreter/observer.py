"""The events of an observed launch, and how to subscribe to them.

    class Stores(Observer):
        def before_store(self, access):
            self.count += 1

An observer overrides the events that it wants; the others are never called. It is given to a session,
`observing(observers=(Stores(),))`, or to a run, `Observed(observers=(Stores(),))`: then it is a dataclass
whose fields say how it observes, each run works on a copy of its own, and what `observation` returns is in
`Evidence.observations[Stores]`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import torch

    from flashlearn.interpreter.address_space import Access, AddressSpace
    from flashlearn.interpreter.instrumentation import Site
    from flashlearn.interpreter.learner_code import Program


@dataclass(frozen=True)
class LaunchStart:
    """A launch that begins: the `number`-th of its session. `arguments` are by parameter name."""

    number: int
    function: Callable
    grid: Program
    arguments: dict[str, Any]


class Observer:
    """Every event does nothing here; override some. `space` has the tensors and the running program."""

    if TYPE_CHECKING:  # a record's annotations are looked up where it is decoded: this is no field of one
        space: AddressSpace

    def observation(self) -> Any:
        """What was seen, as plain data that can be sent to another process."""
        return None

    # launches and programs

    def before_launch(self, launch: LaunchStart) -> None:
        """A launch begins: its tensors are `space.active`."""

    def before_program(self, program: Program, number: int) -> None:
        """`program`, the `number`-th of its grid, runs from here on."""

    def on_barrier(self) -> None:
        """The lanes of the running program wait for one another."""

    # memory: an access goes through these in this order

    def on_access(self, access: Access) -> None:
        """An access within bounds; `access.region` is None where no lane takes part."""

    def before_load(self, access: Access) -> None:
        """A load with at least one lane."""

    def after_load(self, access: Access, values: np.ndarray) -> None:
        """What a load gave, in the shape of its addresses; an observer may write into it."""

    def before_store(self, access: Access) -> None:
        """A store with at least one lane, before memory changes."""

    def on_synchronization(self, access: Access) -> None:
        """An atomic that acquires or releases, before its other events."""

    def before_atomic(self, access: Access) -> None:
        """An atomic with at least one lane, before memory changes."""

    def after_write(self, access: Access) -> None:
        """A store or an atomic, after memory has changed."""

    # computation

    def before_dot(self, left: np.ndarray, right: np.ndarray) -> None:
        """A matrix product: its operands, [..., M, K] and [..., K, N]."""

    def on_result(self, kind: str, operation: Any, operands: tuple, result: Any) -> None:
        """What an operation computed, as triton's handles; their `data` are arrays.

        `kind` is "binary", "unary", "fma", "dot" or "cast", and `operation` the first two's NumPy function.
        """

    def on_value(self, site: Site, frame: FrameType, value: Any) -> Any:
        """A kernel's name gets a value, a `tl.tensor`. Returns it, or another one to go on with."""
        return value

    def on_loop_round(self, loop: int) -> None:
        """A round of a loop begins."""

    def on_loop_exit(self, loop: int) -> None:
        """A loop is over."""

    # the launcher, between its launches

    def on_allocation(self, tensor: torch.Tensor) -> None:
        """torch.empty, or a relative, gave out memory."""

    def on_torch_operation(self, name: str, inputs: list, outputs: list, written: list) -> None:
        """Torch computed `outputs`; `written` are the tensors that it changed in place."""


EVENTS = tuple(name for name in vars(Observer) if name.startswith(("before_", "after_", "on_")))


class Subscriptions:
    """The observers of a session. `self.before_load` are the methods of those that override it, in order.

    An event without a subscriber is an empty tuple: it costs one look.
    """

    def __init__(self, space: AddressSpace):
        self.space = space
        self.observers: list[Observer] = []
        self._collect()

    def add(self, *observers: Observer, first: bool = False) -> None:
        """Subscribe observers, after the others or before them."""
        for observer in observers:
            observer.space = self.space
        self.observers = [*observers, *self.observers] if first else [*self.observers, *observers]
        self._collect()

    def remove(self, observer: Observer) -> None:
        """Tell this observer nothing any more."""
        self.observers = [other for other in self.observers if other is not observer]
        self._collect()

    def _collect(self) -> None:
        methods: dict[str, list[Callable]] = {event: [] for event in EVENTS}
        for observer in self.observers:
            for event in _overridden(type(observer)):
                methods[event].append(getattr(observer, event))
        for event, subscribed in methods.items():
            setattr(self, event, tuple(subscribed))


@functools.cache
def _overridden(kind: type[Observer]) -> tuple[str, ...]:
    """The events that an observer's class overrides; subscriptions change with every Gluon program."""
    return tuple(event for event in EVENTS if getattr(kind, event) is not getattr(Observer, event))
