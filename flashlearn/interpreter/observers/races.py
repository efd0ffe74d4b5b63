"""Data races between the programs of one launch, though the interpreter runs them one by one.

Two programs race if both touch an element, at least one by a plain write, and nothing orders them.
A program's life is cut into *segments* by its scalar atomics (a lock, a counter): an acquire sees
the segments that a release on the same address has closed, and only those (happens-before, as in
Lamport, "Time, clocks, and the ordering of events", 1978). Writing the value that is already there
(up to the rounding of a sum) is harmless and is not reported.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.cautions import SAME_VALUE
from flashlearn.interpreter.learner_code import Program
from flashlearn.interpreter.low_precision import FLOATS
from flashlearn.interpreter.observer import LaunchStart, Observer
from flashlearn.interpreter.shadow import Region
from flashlearn.observation import Place

ROUNDING = 16 * 2.0**-23  # of a store's largest value: what fp32 sums of its tile may differ by


@dataclass(frozen=True)
class Race:
    """Two programs (or two lanes of one) that met at an element without order.

    `fault` is what holds of it in any kernel: the access at which it was seen ("load", "store",
    "atomic"), the other one ("load", "store", "atomic", "lanes"), and whether this program, and the other,
    had read the element last; "no sum" follows where one is an atomic, and not all of these add.
    `storage` identifies the memory.
    """

    sentence: str
    place: Place | None
    programs: tuple[Program, ...]
    fault: tuple = ()
    storage: int = 0


class RaceDetector(Observer):
    """Numbers the segments and keeps what was found; one `Race` per line is enough.

    `owners[s]` is the program of segment s, `numbers[s]` its place in the grid; segment 0 has no program. The
    shadows `writer`, `atomic` and `reader` of a region hold the segments that touched its elements last.
    `visible` are the segments of other programs that happened before the running one's.
    """

    def __init__(self) -> None:
        self.next_segment = 1
        self.segment = 0
        self.program_start = 0
        self.launch_start = 1
        self.owners: list[Program] = [(-1, -1, -1)]
        self.numbers: list[int] = [-1]
        self.program: Program = (0, 0, 0)
        self.number = -1
        self.released: dict[tuple[int, int], set[int]] = {}
        self.visible: set[int] = set()
        self.postponed: dict[int, set[int]] = {}
        self.found: list[Race] = []

    # segments

    def before_launch(self, launch: LaunchStart) -> None:
        """Launches on one stream are ordered: what came before cannot race with what comes."""
        self.launch_start = self.next_segment
        for region in self.space.active:
            region.launch_start = self.next_segment
            region.added_only = True
        self.released.clear()
        self.postponed.clear()

    def before_program(self, program: Program, number: int) -> None:
        """Open the first segment of a program; one that was postponed knows what it did before."""
        self.program = program
        self.number = number
        self.visible = set(self.postponed.get(number, ()))
        self.program_start = self.next_segment
        self.new_segment()

    def new_segment(self) -> None:
        """Close the running program's segment and open its next one."""
        self.segment = self.next_segment
        self.next_segment += 1
        self.owners.append(self.program)
        self.numbers.append(self.number)

    def postpone(self) -> None:
        """The running program will start anew: what it has done so far is its own, and no race."""
        own = range(self.program_start, self.next_segment)
        self.postponed.setdefault(self.number, set()).update(own)

    def on_synchronization(self, access: Access) -> None:
        """A scalar atomic: acquire what was released here, release everything so far, start anew."""
        if access.index.size != 1:
            return
        closed = self.released.setdefault((access.region.index, int(access.index[0])), set())
        self.visible |= closed
        closed |= self.visible | set(range(self.program_start, self.segment + 1))
        self.new_segment()

    # accesses

    def before_load(self, access: Access) -> None:
        """A plain read of what another program wrote."""
        region = access.region
        if region.written_in_launch:
            for shadow in (region.writer, region.atomic):
                conflict = self._unordered(shadow[access.units])
                if conflict.any():
                    text = "reads {at}, which program {other} writes in the same launch"
                    self._report(access, text, shadow, conflict)
        region.note_read(access.units, self.segment, self.program_start)

    def before_store(self, access: Access) -> None:
        """A plain write over another program's write or under its read; or two lanes, one address."""
        self._check_lanes(access)
        region, units = access.region, access.units
        for shadow in (region.writer, region.atomic, region.reader):
            conflict = self._unordered(np.abs(shadow[units])) | self._by_several(shadow[units])
            if not conflict.any():
                continue
            changed = changed_units(access)
            if shadow is region.writer and not changed.all():
                self._note_same(access, shadow, conflict & ~changed)
            conflict &= changed
            if conflict.any():
                verb = "reads" if shadow is region.reader else "writes"
                text = "writes {at}, which program {other} " + verb + " in the same launch"
                self._report(access, text, shadow, conflict)

    def before_atomic(self, access: Access) -> None:
        """An atomic is ordered with atomics, not with plain accesses of others."""
        region, units = access.region, access.units
        region.added_only &= access.adds
        for shadow, verb in ((region.writer, "writes"), (region.reader, "reads")):
            conflict = self._unordered(np.abs(shadow[units])) | self._by_several(shadow[units])
            if conflict.any():
                text = "updates {at} atomically, which program {other} " + verb + " without an atomic"
                self._report(access, text, shadow, conflict)

    def after_write(self, access: Access) -> None:
        """Leave the segment in the shadow."""
        shadow = access.region.writer if access.kind == "store" else access.region.atomic
        shadow[access.units] = self.segment

    # conflicts

    def _unordered(self, segments: np.ndarray) -> np.ndarray:
        """Which of these segments belong to other programs of the launch and are not known to be over."""
        conflict = (segments >= self.launch_start) & (segments < self.program_start)
        if self.visible and conflict.any():
            conflict &= ~np.isin(segments, list(self.visible))
        return conflict

    def _by_several(self, segments: np.ndarray) -> np.ndarray:
        """Which of these, of the shadow `reader`, mean that several programs have read."""
        if self.visible:
            return np.zeros(segments.shape, bool)
        return segments <= -self.launch_start

    def _check_lanes(self, access: Access) -> None:
        index, values = access.index, access.values
        if index.size < 2 or (np.diff(index) > 0).all():
            return
        order = np.argsort(index, kind="stable")
        same = np.diff(index[order]) == 0
        sorted_values = values[order]
        clash = same & ~_agree(sorted_values[1:], sorted_values[:-1])
        if clash.any():
            at = element(access.region, int(index[order][1:][clash][0]) * values.dtype.itemsize)
            sentence = f"Two lanes of program {self.program} write {at} with different values in one store."
            fault = ("store", "lanes", False, False)
            self._add(
                Race(sentence, self.space.place(), (self.program,), fault, access.region.storage._cdata)
            )

    def _report(self, access: Access, text: str, shadow: np.ndarray, conflict: np.ndarray) -> None:
        region = access.region
        unit, other = self._first(access, shadow, conflict)
        at = element(region, unit * region.unit)
        who = f"Program {self.program} " + text.format(at=at, other=_other(other, self.program))
        sentence = f"{who}: on a GPU they run at the same time, and which comes first is left to chance."
        read_by = {self.owners[abs(int(s))] for s in region.reader[access.units[conflict]]}
        fault = (access.kind, _kind_of(shadow, region), self.program in read_by, other in read_by)
        if "atomic" in fault[:2] and not region.added_only:
            fault = (*fault, "no sum")
        programs = self.program, other
        self._add(Race(sentence, self.space.place(), programs, fault, region.storage._cdata))

    def _note_same(self, access: Access, shadow: np.ndarray, conflict: np.ndarray) -> None:
        if not conflict.any():
            return
        unit, other = self._first(access, shadow, conflict)
        at = element(access.region, unit * access.region.unit)
        sentence = (
            f"Program {self.program} writes {at}, which program {_other(other, self.program)} writes too, "
            "here with the same value. One program should own each element."
        )
        self.space.cautions.add(SAME_VALUE, sentence, self.space.place())

    def _first(self, access: Access, shadow: np.ndarray, conflict: np.ndarray) -> tuple[int, Program]:
        """The first unit in conflict, and the other program."""
        unit = int(access.units[conflict][0])
        return unit, self.owners[abs(int(shadow[unit]))]

    def _add(self, race: Race) -> None:
        lines = {(r.place.file, r.place.line) if r.place else None for r in self.found}
        if ((race.place.file, race.place.line) if race.place else None) not in lines:
            self.found.append(race)


def changed_units(access: Access) -> np.ndarray:
    """For each unit of a store whether it will hold another value than now."""
    ratio = access.units.size // max(access.index.size, 1)
    return np.repeat(~_agree(access.items[access.index], access.values), ratio)


def _kind_of(shadow: np.ndarray, region: Region) -> str:
    return "load" if shadow is region.reader else "store" if shadow is region.writer else "atomic"


def _other(other: Program, me: Program) -> str:
    return str(other) if other != me else "another"


def element(region: Region, byte: int) -> str:
    """The element at a byte of a storage, as the tensor that was passed has it: "y_ptr[3, 0]"."""
    view = region.view_at(byte)
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
