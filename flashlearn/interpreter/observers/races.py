"""Data races between the programs of one launch, though the interpreter runs them one by one.

Two programs race if both touch an element, at least one by a plain write, and nothing orders them.
A program's life is cut into *segments* by its scalar atomics (a lock, a counter): an acquire sees
the segments that a release on the same address has closed, and only those (happens-before, as in
Lamport, "Time, clocks, and the ordering of events", 1978). Writing the value that is already there
(up to the rounding of a sum) is harmless and is not reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np

from flashlearn.interpreter.cautions import SAME_VALUE
from flashlearn.interpreter.low_precision import FLOATS
from flashlearn.outcome import Place

if TYPE_CHECKING:
    from flashlearn.interpreter.gluon.partition_races import PartitionRaces
    from flashlearn.interpreter.memory import Memory
    from flashlearn.interpreter.shadow import Region


ROUNDING = 16 * 2.0**-23  # of a store's largest value: what fp32 sums of its tile may differ by


@dataclass(frozen=True)
class Race:
    """Two programs (or two lanes of one) that met at an element without order.

    `fault` is what can be told of it in any kernel: the access at which it was seen ("load", "store",
    "atomic"), the other one ("load", "store", "atomic", "lanes"), and whether this program, and the other,
    had read the element last. `storage` identifies the memory.
    """

    sentence: str
    place: Place | None
    programs: tuple[tuple[int, int, int], ...]
    fault: tuple = ()
    storage: int = 0


@dataclass
class RaceDetector:
    """Numbers the segments and keeps what was found; one `Race` per line is enough.

    `owners[s]` is the program of segment s, `numbers[s]` its place in the grid; segment 0 is nobody's.
    """

    next_segment: int = 1
    segment: int = 0
    program_start: int = 0
    launch_start: int = 1
    program: tuple[int, int, int] = (0, 0, 0)
    owners: list[tuple[int, int, int]] = field(default_factory=lambda: [(-1, -1, -1)])
    numbers: list[int] = field(default_factory=lambda: [-1])
    number: int = -1
    released: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    visible: set[int] = field(default_factory=set)
    found: list[Race] = field(default_factory=list)
    partitions: PartitionRaces | None = None  # while a program of a Gluon kernel runs

    def begin_launch(self) -> None:
        """Launches on one stream are ordered: what came before cannot race with what comes."""
        self.launch_start = self.next_segment
        self.released.clear()

    def begin_program(self, program: tuple[int, int, int], number: int) -> None:
        """Open the first segment of `program`, the `number`-th of its grid."""
        self.program = program
        self.number = number
        self.visible = set()
        self.program_start = self.next_segment
        self.new_segment()

    def new_segment(self) -> None:
        """Close the running program's segment and open its next one."""
        self.segment = self.next_segment
        self.next_segment += 1
        self.owners.append(self.program)
        self.numbers.append(self.number)

    def own(self) -> set[int]:
        """The segments of the running program so far."""
        return set(range(self.program_start, self.next_segment))

    def synchronise(self, region: int, index: int) -> None:
        """A scalar atomic: acquire what was released here, release everything so far, start anew."""
        if self.partitions is not None:
            self.partitions.synchronise(region, index)
        closed = self.released.setdefault((region, index), set())
        self.visible |= closed
        closed |= self.visible | set(range(self.program_start, self.segment + 1))
        self.new_segment()

    def _unordered(self, segments: np.ndarray) -> np.ndarray:
        conflict = (segments >= self.launch_start) & (segments < self.program_start)
        if self.visible and conflict.any():
            conflict &= ~np.isin(segments, list(self.visible))
        return conflict

    def check_load(self, region: Region, units: np.ndarray, memory: Memory) -> None:
        """A plain read of what another program wrote."""
        if self.partitions is not None:
            self.partitions.load(region, units)
        if not region.written_in_launch:
            return
        for shadow in (region.writer, region.atomic):
            conflict = self._unordered(shadow[units])
            if conflict.any():
                self._report("load", "reads {at}, which program {other} writes in the same launch", region,
                             units, shadow, conflict, memory)  # fmt: skip

    def check_store(self, region, units, items, index, values, memory: Memory) -> None:
        """A plain write over another program's write or under its read; or two lanes, one address."""
        self._check_lanes(region, index, values, memory)
        ratio = units.size // max(index.size, 1)
        if self.partitions is not None:
            self.partitions.store(region, units, lambda: np.repeat(~_agree(items[index], values), ratio))
        for shadow in (region.writer, region.atomic, region.reader):
            conflict = self._unordered(np.abs(shadow[units])) | self._many(shadow[units])
            if not conflict.any():
                continue
            changed = ~_agree(items[index], values)
            if shadow is region.writer and not changed.all():
                self._note_same(region, units, shadow, conflict & ~np.repeat(changed, ratio), memory)
            conflict &= np.repeat(changed, ratio)
            if conflict.any():
                verb = "reads" if shadow is region.reader else "writes"
                text = "writes {at}, which program {other} " + verb + " in the same launch"
                self._report("store", text, region, units, shadow, conflict, memory)

    def check_atomic(self, region: Region, units: np.ndarray, memory: Memory) -> None:
        """An atomic is ordered with atomics, not with plain accesses of others."""
        if self.partitions is not None:
            self.partitions.atomic(region, units)
        for shadow, verb in ((region.writer, "writes"), (region.reader, "reads")):
            conflict = self._unordered(np.abs(shadow[units])) | self._many(shadow[units])
            if conflict.any():
                text = "updates {at} atomically, which program {other} " + verb + " without an atomic"
                self._report("atomic", text, region, units, shadow, conflict, memory)

    def _many(self, segments: np.ndarray) -> np.ndarray:
        if self.visible:
            return np.zeros(segments.shape, bool)
        return segments <= -self.launch_start

    def _check_lanes(self, region: Region, index: np.ndarray, values: np.ndarray, memory: Memory) -> None:
        if index.size < 2 or (np.diff(index) > 0).all():
            return
        order = np.argsort(index, kind="stable")
        same = np.diff(index[order]) == 0
        sorted_values = values[order]
        clash = same & ~_agree(sorted_values[1:], sorted_values[:-1])
        if clash.any():
            at = element(region, int(index[order][1:][clash][0]) * values.dtype.itemsize)
            sentence = f"Two lanes of program {self.program} write {at} with different values in one store."
            fault = ("store", "lanes", False, False)
            self._add(Race(sentence, memory.place(), (self.program,), fault, region.storage._cdata))

    def _report(self, kind: str, text, region, units, shadow, conflict, memory: Memory) -> None:
        unit = int(units[conflict][0])
        other = self.owners[abs(int(shadow[unit]))]
        at = element(region, unit * region.unit)
        who = f"Program {self.program} " + text.format(at=at, other=_other(other, self.program))
        sentence = f"{who}: on a GPU they run at the same time, and which comes first is left to chance."
        read_by = {self.owners[abs(int(s))] for s in region.reader[units[conflict]]}
        fault = (kind, _kind_of(shadow, region), self.program in read_by, other in read_by)
        self._add(Race(sentence, memory.place(), (self.program, other), fault, region.storage._cdata))

    def _note_same(self, region, units, shadow, conflict, memory: Memory) -> None:
        if not conflict.any():
            return
        unit = int(units[conflict][0])
        other = self.owners[abs(int(shadow[unit]))]
        sentence = (
            f"Program {self.program} writes {element(region, unit * region.unit)}, which program "
            f"{_other(other, self.program)} writes too, with the same value. That is harmless as long as the "
            "values are equal, but the work is done twice: one program should own each element."
        )
        memory.cautions.add(SAME_VALUE, sentence, memory.place())

    def _add(self, race: Race) -> None:
        lines = {(r.place.file, r.place.line) if r.place else None for r in self.found}
        if ((race.place.file, race.place.line) if race.place else None) not in lines:
            self.found.append(race)


def _kind_of(shadow: np.ndarray, region: Region) -> str:
    return "load" if shadow is region.reader else "store" if shadow is region.writer else "atomic"


def _other(other: tuple[int, int, int], me: tuple[int, int, int]) -> str:
    return str(other) if other != me else "another"


def element(region: Region, byte: int) -> str:
    """The element at a byte of a storage, as the tensor that was passed has it: "y_ptr[3, 0]"."""
    view = region.views[0]
    return f"{view.name}[{', '.join(str(i) for i in view.coordinates(byte))}]"


def _agree(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal values, or as good as: NumPy's products round a row by its place in the tile; GPUs do not."""
    same = _same_bits(a, b)
    if same.all() or a.dtype not in FLOATS:
        return same
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    finite = np.abs(wide_b[np.isfinite(wide_b)])
    slack = ROUNDING * (finite.max() if finite.size else 0.0)
    with np.errstate(invalid="ignore"):
        return same | (np.abs(wide_a - wide_b) <= slack + ml_dtypes.finfo(a.dtype).eps * np.abs(wide_b))


def _same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    whole = np.dtype(f"u{a.dtype.itemsize}")
    return np.ascontiguousarray(a).view(whole) == np.ascontiguousarray(b).view(whole)
