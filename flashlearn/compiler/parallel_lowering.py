"""Triton's front end at work on many launches at a time: each process takes a share of them.

    >>> with ParallelLowering(launches) as lowering:
    ...     lowering.refusals()                    # as those of one `Lowering` of all launches

A check waits for the front end, right or wrong, and a kernel has dozens of variants in some exercises. What
it has accepted once is not lowered again in this process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from flashlearn.compiler.lowering import FrontEndRefusal, Lowering
from flashlearn.interpreter.specialization import Specialization

SHARE = 5
"""Launches that are worth a process: making one takes as long as lowering one of them."""
MOST = 8
"""Processes."""
MOST_KNOWN = 4000
_accepted: dict[str, None] = {}
"""Launches that the front end has accepted, by `Specialization.text_key`, the oldest first."""


def _is_accepted(launch: Specialization) -> bool:
    """Whether the front end has accepted it before: from then on triton has a key of the kernel."""
    return launch.kernel.hash is not None and launch.text_key in _accepted


class ParallelLowering:
    """Several front ends, each with every n-th of the launches. To be closed, or a context manager."""

    def __init__(self, launches: Sequence[Specialization], processes: int | None = None):
        self.launches = tuple(launches)
        new = [number for number, launch in enumerate(launches) if not _is_accepted(launch)]
        wanted = min(MOST, os.cpu_count() or 1, -(-len(new) // SHARE))
        count = max(1, wanted if processes is None else processes)
        self.shares = [new[first::count] for first in range(count)]
        self.parts = [Lowering([launches[number] for number in share]) for share in self.shares]

    def refusals(self) -> tuple[FrontEndRefusal, ...]:
        """Waits until all is lowered; what was refused, in the order of the launches."""
        found = [
            replace(refusal, variant=share[refusal.variant])
            for share, part in zip(self.shares, self.parts, strict=True)
            for refusal in part.refusals()
        ]
        for share, part in zip(self.shares, self.parts, strict=True):
            keys = (self.launches[share[number]].text_key for number in part.accepted)
            _accepted.update((key, None) for key in keys if key is not None)
        while len(_accepted) > MOST_KNOWN:
            _accepted.pop(next(iter(_accepted)))
        return tuple(sorted(found, key=lambda refusal: refusal.variant))

    def close(self) -> None:
        """End the processes."""
        for part in self.parts:
            part.close()

    def __enter__(self) -> ParallelLowering:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
