"""mbarriers: phases that complete when all have arrived and all expected bytes are there (PTX ISA).

A barrier counts `count` arrivals in each phase. `expect` is an arrival that adds bytes to wait for. A waiter
names the parity of a phase: it goes on unless the phase that is under way has this parity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flashlearn.interpreter.gluon.vector_clock import Agent, VectorClock
from flashlearn.observation import Place


@dataclass
class Barrier:
    """One mbarrier since its `init`. `completed` phases are over; the one under way has that number."""

    number: int
    name: str
    count: int
    place: Place | None
    by: Any
    epoch: int
    completed: int = 0
    pending: int = 0
    expected: int = 0
    copied: int = 0  # bytes of the copies that were issued in the phase under way
    landed: int = 0
    completed_at: float = 0.0
    latest: float = 0.0
    released: VectorClock = field(default_factory=VectorClock)
    gathered: VectorClock = field(default_factory=VectorClock)
    before: VectorClock = field(default_factory=VectorClock)  # what comes before the phase under way ends
    passed: list[tuple[Any, int, Place | None]] = field(
        default_factory=list
    )  # the waits that the phase under way let through: who, in which epoch, where
    arrivals: list[tuple[Any, Place | None, int, int]] = field(
        default_factory=list
    )  # all: who, where, which phase, counting how many
    events: list[int] = field(default_factory=list)
    completing: tuple[int, ...] = ()  # the events that completed the last phase
    expects: list[tuple[int, Place | None]] = field(default_factory=list)
    copies: list[tuple[int, Place | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pending = self.count

    @property
    def agent(self) -> Agent:
        """The barrier as an agent: its epochs are its completed phases."""
        return ("barrier", self.number)

    def passes(self, parity: int) -> bool:
        """True if a wait for a phase of this parity goes on."""
        return (self.completed & 1) != (parity & 1)

    @property
    def full(self) -> bool:
        """True if nothing is missing in the phase under way."""
        return self.pending == 0 and self.landed == self.expected

    def complete(self) -> None:
        """The phase under way is over, and the next begins."""
        self.released.take(self.gathered)
        self.completed += 1
        self.passed = []
        self.completed_at = max(self.completed_at, self.latest)
        self.pending, self.expected, self.copied, self.landed = self.count, 0, 0, 0
        self.completing, self.events = tuple(self.events), []
        self.expects, self.copies = [], []
