"""What the programs of a launch touch, access by access, as plain data.

The totals of a launch and of each program are counted as they run. The accesses themselves are kept
only of the program that was asked for, and of the one that runs at the moment: should it crash, it is
the one that a learner wants to see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.learner_code import Program, find_place
from flashlearn.interpreter.observer import LaunchStart, Observer
from flashlearn.interpreter.shadow import REGION_BITS, Region
from flashlearn.interpreter.views import View, holders
from flashlearn.observation import Place

if TYPE_CHECKING:
    from flashlearn.observation import TimelineEvent

VERBS = {"load": "read", "store": "write", "atomic": "update"}
MAX_ACCESSES = 4096  # accesses of one program; more are counted, and said to be left out


@dataclass
class Tally:
    """What loads, stores or atomics asked of one tensor, in bytes; masked-out lanes ask for none.

    `tensors` are several where they share memory and it is open which one was meant.
    """

    tensors: tuple[str, ...]
    verb: str
    accesses: int = 0
    lanes: int = 0
    masked: int = 0
    requested: int = 0
    unique: int = 0
    seen: dict[int, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def tensor(self) -> str:
        """What it is called: «x_ptr or y_ptr» where that is open."""
        return " or ".join(self.tensors)

    @property
    def again(self) -> float:
        """The share of the requested bytes that had been asked for before, or twice in one access."""
        return 1 - self.unique / self.requested if self.requested else 0.0

    @property
    def masked_share(self) -> float:
        """The share of the lanes that a mask switched off."""
        return self.masked / self.lanes if self.lanes else 0.0

    def add(self, region: Region | None, index: np.ndarray, itemsize: int, masked: int) -> int:
        """Count one access; return how many of its bytes had not been asked for before."""
        self.accesses += 1
        self.lanes += index.size + masked
        self.masked += masked
        self.requested += index.size * itemsize
        if region is None:
            return 0
        if itemsize not in self.seen:  # one pointer type per tensor, as good as always
            self.seen[itemsize] = np.zeros(region.nbytes // itemsize, bool)
        seen = self.seen[itemsize]
        new = np.unique(index[~seen[index]]).size * itemsize
        seen[index] = True
        self.unique += new
        return new


class Tallies(dict):
    """By (tensors, verb), in the order in which they were first met."""

    def of(self, tensors: tuple[str, ...], verb: str) -> Tally:
        return self.setdefault((tensors, verb), Tally(tensors, verb))


@dataclass(frozen=True)
class AccessRecord:
    """One access as it was made. `new` are bytes that this program had not asked for before.

    `tensors` are several where they share memory and it is open which one was meant.
    """

    tensors: tuple[str, ...]
    verb: str
    view: View
    addresses: np.ndarray
    lanes: np.ndarray | None
    index: np.ndarray
    itemsize: int
    masked: int
    new: int
    place: Place | None


@dataclass
class ProgramRecord:
    """One program: its accesses in order, and its totals."""

    program: Program
    events: list[AccessRecord] = field(default_factory=list)
    tallies: Tallies = field(default_factory=Tallies)
    left_out: int = 0


@dataclass
class LaunchRecord:
    """One launch of `kernel`, which `file` has at `line`.

    `chosen` is the program that was asked for, `last` the one that ran last.
    """

    kernel: str
    file: str
    line: int
    grid: Program
    dtypes: dict[str, torch.dtype]
    wanted: Program | None
    tallies: Tallies = field(default_factory=Tallies)
    chosen: ProgramRecord | None = None
    last: ProgramRecord | None = None

    @property
    def requested(self) -> int:
        """Bytes that all programs together asked for."""
        return sum(tally.requested for tally in self.tallies.values())


@dataclass
class Recording:
    """All launches of one call, and the sentence about what ended it early, if anything did."""

    launches: list[LaunchRecord]
    sentence: str = ""
    place: Place | None = None
    crashed: bool = False  # inside the last launch, not in torch before or after it
    timeline: tuple[TimelineEvent, ...] = ()  # of Gluon launches: what the chosen programs did when
    dropped: int = 0  # events that were too many to keep


class AccessRecorder(Observer):
    """Records every launch; `program` as the caller gave it: number, indices or None."""

    def __init__(self, program: int | Sequence[int] | None):
        self.program = program
        self.launches: list[LaunchRecord] = []

    def before_launch(self, launch: LaunchStart) -> None:
        bases = {name: getattr(value, "base", value) for name, value in launch.arguments.items()}
        dtypes = {name: value.dtype for name, value in bases.items() if isinstance(value, torch.Tensor)}
        code = launch.function.__code__
        wanted = find_program(self.program, launch.grid)
        place = (launch.function.__name__, code.co_filename, code.co_firstlineno)
        self.launches.append(LaunchRecord(*place, launch.grid, dtypes, wanted))

    def wants(self, launch: int, program: Program) -> bool:
        """True if this is the program of that launch that was asked for."""
        return launch < len(self.launches) and self.launches[launch].wanted == program

    def on_access(self, access: Access) -> None:
        launch, region, index, masked = self.launches[-1], access.region, access.index, access.masked_out
        program = self.space.program
        run = self._run(launch, program)
        views = region.views if region is not None else self._views_pointed_at(access)
        if not views:
            return
        held = holders(views, index, access.itemsize)
        names, view = tuple(view.name for view in held), held[0]
        verb = VERBS[access.kind]
        launch.tallies.of(names, verb).add(region, index, access.itemsize, masked)
        new = run.tallies.of(names, verb).add(region, index, access.itemsize, masked)
        if len(run.events) >= MAX_ACCESSES:
            run.left_out += 1
            return
        place = find_place(program)
        run.events.append(
            AccessRecord(
                names, verb, view, access.addresses, access.lanes, index, access.itemsize, masked, new, place
            )
        )

    def _run(self, launch: LaunchRecord, program: Program) -> ProgramRecord:
        if launch.last is None or launch.last.program != program:
            launch.last = ProgramRecord(program)
            if program == launch.wanted:
                launch.chosen = launch.last
        return launch.last

    def _views_pointed_at(self, access: Access) -> list[View]:
        """The tensors that the first lane points to, for an access with all lanes masked out."""
        if not access.addresses.size:
            return []
        region = self.space.regions.get(int(access.addresses.flat[0]) >> REGION_BITS)
        return region.views if region is not None else []


def find_program(program: int | Sequence[int] | None, grid: Program) -> Program | None:
    """The indices of the program that is meant; by default the middle one. None if it does not exist."""
    if program is None:
        return tuple(size // 2 for size in grid) if math.prod(grid) else None
    if isinstance(program, int):
        number, rest = divmod(program, grid[2])
        index = (number // grid[1], number % grid[1], rest)
    else:
        index = (*program, 0, 0, 0)[:3] if len(program) <= 3 else (-1, -1, -1)
    return index if all(0 <= i < size for i, size in zip(index, grid, strict=True)) else None


RECORDS = (AccessRecorder, Recording, LaunchRecord, ProgramRecord, AccessRecord, Tally)
