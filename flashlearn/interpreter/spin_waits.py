"""Programs that wait for one another, though here they run one after another.

A program that asks the same element again and again with an atomic that changes nothing waits for another
program to change it. If it has written nothing so far, it is postponed: the others run first, and it starts
anew. If it has, it cannot be restarted, and only a GPU shows how it ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.errors import NeedsGpu
from flashlearn.interpreter.observer import Observer

SPIN_LIMIT = 64
"""Atomics in a row that leave the same element as it was: from then on the program counts as waiting."""


class RunLater(Exception):
    """Raised in a program that waits and has written nothing: it is to be restarted later."""


class SpinWaits(Observer):
    """The queue of the programs. `has_written` says that the running program has changed memory."""

    def __init__(self) -> None:
        self.queue: deque[int] = deque()
        self.has_written = False
        self._postponed_in_a_row = 0
        self._element: tuple[int, int] = (0, 0)
        self._spins = 0

    def take(self, programs: Iterable[int]) -> Iterator[int]:
        """The numbers of the programs, in order; those that were postponed come again after the others."""
        self.queue, self._postponed_in_a_row = deque(programs), 0
        while self.queue:
            self.has_written, self._spins = False, 0
            yield self.queue.popleft()

    def program_ended(self) -> None:
        """The running program is complete: what it did may release others."""
        self._postponed_in_a_row = 0

    def postpone(self, number: int) -> None:
        """The running program is to come again."""
        self.queue.append(number)
        self._postponed_in_a_row += 1

    def after_write(self, access: Access) -> None:
        """Look for an atomic that changed nothing. Raises RunLater, or NeedsGpu where that is too late."""
        index = access.index
        alone = access.kind == "atomic" and index.size == 1
        if not alone or access.items[index].tobytes() != access.values.tobytes():
            self.has_written = True
        elif self._is_waiting((access.region.index, int(index[0]))):
            if not self.has_written:
                raise RunLater
            raise self._needs_gpu(access)

    def _is_waiting(self, element: tuple[int, int]) -> bool:
        """An atomic left this element as it was. If all others ended, or wait too, none can change it."""
        self._spins = self._spins + 1 if self._element == element else 1
        self._element = element
        return self._spins >= SPIN_LIMIT and self._postponed_in_a_row < len(self.queue)

    def _needs_gpu(self, access: Access) -> NeedsGpu:
        view = access.region.views_of(access.index, access.itemsize)[0]
        at = ", ".join(str(i) for i in view.coordinates(int(access.index[0]) * access.itemsize))
        return NeedsGpu(
            f"Program ({', '.join(str(i) for i in self.space.program)}) waits until another one changes "
            f"{view.name}[{at}]. Here programs run one after another, and one that has written something "
            "cannot be postponed until the others have run; on a GPU they run side by side. This kernel "
            "needs a GPU to be judged.",
            self.space.place(),
        )
