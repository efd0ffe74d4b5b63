"""Programs that wait for one another, though here they run one after another.

A program that asks the same element again and again with an atomic that changes nothing waits for another
one to change it. If it has written nothing so far, it stands back: the others run first, and it starts anew.
If it has, it cannot be begun again, and only a GPU tells how it ends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

SPINS = 64
"""So many times in a row an element is asked before that counts as waiting."""


class RunLater(Exception):
    """Raised in a program that waits and has written nothing: it is to be begun again later."""


@dataclass
class SpinWaits:
    """Whose turn it is. `acted` says that the running program has written something."""

    queue: deque[int] = field(default_factory=deque)
    acted: bool = False
    _idle: int = 0
    _asked: tuple[int, int] = (0, 0)
    _spins: int = 0

    def take(self, programs: Iterable[int]) -> Iterator[int]:
        """The numbers of the programs, in order; those that stood back come again behind the others."""
        self.queue, self._idle = deque(programs), 0
        while self.queue:
            self.acted, self._spins = False, 0
            yield self.queue.popleft()

    def ended(self) -> None:
        """The running program has come to its end: others may go on by what it did."""
        self._idle = 0

    def stood_back(self, number: int) -> None:
        """The running program is to come again."""
        self.queue.append(number)
        self._idle += 1

    def waits(self, element: tuple[int, int]) -> bool:
        """An atomic left an element as it was: True if the program waits, and cannot be begun again.

        Raises StandsBack if it can. Where all others have ended, or wait themselves, nobody is waited for.
        """
        self._spins = self._spins + 1 if self._asked == element else 1
        self._asked = element
        if self._spins < SPINS or self._idle >= len(self.queue):
            return False
        if not self.acted:
            raise RunLater
        return True
