"""Vector clocks: what a partition knows of the others (Mattern, "Virtual Time and Global States", 1989).

An *agent* does things in an order of its own: a partition, the products or the stores that a
partition has issued, a barrier with its phases. Knowing an agent's epoch n means that everything it did up to
n has happened. A second clock holds what a proxy fence has made visible to asynchronous copies and products.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

Agent = Hashable
Clock = dict[Agent, int]


def join(into: Clock, other: Clock) -> None:
    """Take over what `other` knows."""
    for agent, epoch in other.items():
        if into.get(agent, 0) < epoch:
            into[agent] = epoch


@dataclass
class VectorClock:
    """What has happened before (`seen`), and what of it the asynchronous proxy sees (`fenced`)."""

    seen: Clock = field(default_factory=dict)
    fenced: Clock = field(default_factory=dict)

    def copy(self) -> VectorClock:
        """A snapshot."""
        return VectorClock(dict(self.seen), dict(self.fenced))

    def take(self, other: VectorClock) -> None:
        """Learn all that `other` knows."""
        join(self.seen, other.seen)
        join(self.fenced, other.fenced)

    def fence(self) -> None:
        """A proxy fence: all that is known to have happened is visible to asynchronous operations."""
        join(self.fenced, self.seen)

    def knows(self, agent: Agent, epoch: int) -> bool:
        """True if that has happened before now."""
        return self.seen.get(agent, 0) >= epoch

    def shows(self, agent: Agent, epoch: int) -> bool:
        """True if there was a fence between that and now."""
        return self.fenced.get(agent, 0) >= epoch
