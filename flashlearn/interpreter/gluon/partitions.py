"""Partitions as threads with one baton: exactly one of them runs, and hands on where it must or may.

A partition that waits hands the baton to one that can go on. If none can, the asynchronous operation that
ends first is completed; if there is none either, all wait forever, and the kernel hangs.
"""

from __future__ import annotations

import contextvars
import ctypes
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from flashlearn.interpreter.gluon.vector_clock import Agent, VectorClock
from flashlearn.observation import Place

SWITCHES = 0.2
"""How often a partition that could go on hands the baton over, where a seed draws the order."""
PATIENCE = 5.0  # seconds for a thread to end once it was asked to


class PartitionAbandoned(BaseException):
    """Raised in a partition whose kernel has ended; not an Exception, so that nothing swallows it."""


@dataclass
class BarrierWait:
    """What a partition waits for: `over` says whether it need not any more."""

    over: Callable[[], bool]
    barrier: Any
    parity: int
    place: Place | None


class PassedWait(NamedTuple):
    """A wait that is over: what it asked for, how many phases were over then, and its `Clocked.moment`.

    `again` says that the same partition had waited for the same phase before.
    """

    place: Place | None
    parity: int
    completed: int
    when: int
    again: bool = False


@dataclass
class Partition:
    """A group of warps with its own program, and what it knows of the others."""

    index: int
    name: str
    warps: int
    known: VectorClock = field(default_factory=VectorClock)
    now: float = 0.0
    waiting: BarrierWait | None = None
    ended: bool = False
    issued: dict[str, int] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    records: dict[str, list] = field(default_factory=dict)
    reads: dict[tuple, tuple[Any, int]] = field(default_factory=dict)  # by place: the last view, and when
    waits: dict[int, PassedWait] = field(default_factory=dict)  # by barrier: the last one
    gives_way: bool = False
    go: threading.Lock = field(default_factory=threading.Lock)
    thread: threading.Thread | None = None

    def __post_init__(self) -> None:
        self.go.acquire()

    @property
    def agent(self) -> Agent:
        """The partition as an agent."""
        return ("partition", self.index)

    def own(self, what: str) -> Agent:
        """What this partition has issued of a kind ("wgmma", "tma store", "cp.async"), as an agent."""
        return (what, self.index)

    def tick(self) -> int:
        """Begin a new epoch; its number."""
        epoch = self.known.seen.get(self.agent, 0) + 1
        self.known.seen[self.agent] = epoch
        return epoch

    def issue(self, what: str, record: Any) -> int:
        """One more asynchronous operation of this kind; its number, from 1 on."""
        number = self.issued[what] = self.issued.get(what, 0) + 1
        self.records.setdefault(what, []).append(record)
        return number

    def finish(self, what: str, outstanding: int) -> list:
        """All but `outstanding` operations of a kind are over: the records of the newly completed ones."""
        before = self.done.get(what, 0)
        upto = max(self.issued.get(what, 0) - outstanding, before)
        self.done[what] = self.known.seen[self.own(what)] = upto
        return self.records.get(what, [])[before:upto]

    def unfinished(self, what: str) -> list:
        """The records of the operations of a kind that have not been waited for."""
        return self.records.get(what, [])[self.done.get(what, 0) :]


class PartitionScheduler:
    """Who runs. `land` lets the next asynchronous operation come to its end; False if there is none."""

    def __init__(self, first: Partition, order: random.Random | None, land: Callable[[], bool],
                 deadlock: Callable[[list[Partition]], Exception]):  # fmt: skip
        self.order, self.land, self.deadlock = order, land, deadlock
        self.partitions = [first]
        self.current = first
        self.failure: BaseException | None = None
        self.over = False

    # where a partition hands on

    def rest(self) -> None:
        """A place where another partition may come first."""
        if self.over:
            raise PartitionAbandoned
        if len(self.partitions) > 1 and self.order is not None and self.order.random() < SWITCHES:
            others = [p for p in self._ready() if p is not self.current]
            if others:
                self._hand_to(self.order.choice(others))

    def wait(self, waiting: BarrierWait) -> bool:
        """Go on when `waiting` is over. True if it was so at once. Raises the deadlock."""
        me = self.current
        if waiting.over():
            return True
        me.waiting = waiting
        while not waiting.over():
            following = self._following()
            if following is None:
                raise self.deadlock([p for p in self.partitions if p.waiting is not None])
            if following is not me:
                self._hand_to(following)
        me.waiting = None
        return False

    def others_first(self, over: Callable[[], bool]) -> bool:
        """Let the others go as far as they can before this one is found at fault: True if `over`."""
        me = self.current
        me.waiting, me.gives_way = BarrierWait(over, None, 0, None), True
        while not over() and (others := self._ready()):
            self._hand_to(others[0])
        me.waiting, me.gives_way = None, False
        return over()

    def _ready(self) -> list[Partition]:
        return [p for p in self.partitions if not p.ended and (p.waiting is None or p.waiting.over())]

    def _following(self) -> Partition | None:
        while not (ready := self._ready()):
            if not self.land():  # who only lets the others go first goes on when none of them can
                return next((p for p in self.partitions if p.gives_way), None)
        return min(ready, key=lambda p: p.now) if self.order is None else self.order.choice(ready)

    def _hand_to(self, other: Partition) -> None:
        me, self.current = self.current, other
        other.go.release()
        self._take(me)

    def _take(self, me: Partition) -> None:
        while not me.go.acquire(timeout=0.1):
            pass  # a time limit is delivered between two bytecodes
        if me.index == 0 and self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        if self.over:
            raise PartitionAbandoned

    # fork and join

    def fork(self, workers: list[tuple[Partition, Callable[[], Any]]]) -> None:
        """Let workers begin, whenever the baton comes to them."""
        for partition, run in workers:
            self.partitions.append(partition)
            context = contextvars.copy_context()
            partition.thread = threading.Thread(
                target=context.run, args=(self._work, partition, run), name=partition.name, daemon=True
            )
            partition.thread.start()

    def _work(self, me: Partition, run: Callable[[], Any]) -> None:
        try:
            self._take(me)
            run()
            me.ended = True
            following = self._following()
            if following is None:
                raise self.deadlock([p for p in self.partitions if p.waiting is not None])
        except PartitionAbandoned:
            return
        except BaseException as error:
            me.ended, self.failure = True, error
            following = self.partitions[0]
        self.current = following
        following.go.release()

    def abandon(self) -> None:
        """End all workers: the one that has the baton may be computing, the others wait for it."""
        self.over = True
        running = self.current
        if running.index and not running.ended and running.thread is not None:
            _raise_in(running.thread)
        workers = [p for p in self.partitions[1:] if p.thread is not None]
        for partition in workers:
            if not partition.ended and partition.go.locked():
                partition.go.release()
        for partition in workers:
            partition.thread.join(PATIENCE)


def _raise_in(thread: threading.Thread) -> None:
    identity = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(PartitionAbandoned))
