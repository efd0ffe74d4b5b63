"""One access of a tile of addresses, and the sentence for one that goes astray."""

from __future__ import annotations

import linecache
import sys
import weakref
from typing import TYPE_CHECKING

import numpy as np

from flashlearn.interpreter.errors import OutOfBounds
from flashlearn.interpreter.index_intent import meant_index
from flashlearn.interpreter.shadow import Region, View
from flashlearn.interpreter.stride_mismatch import Reason, reason
from flashlearn.outcome import Place

if TYPE_CHECKING:
    from flashlearn.interpreter.memory import Memory

LEARNER_CODE: weakref.WeakSet = weakref.WeakSet()
"""Code objects of the kernels and helpers that are running interpreted; how a line is found."""


class Access:
    """A load, store or atomic: its addresses, its mask, and the lanes that take part."""

    __slots__ = ("addresses", "flat", "itemsize", "kind", "lanes", "masked", "partial")

    def __init__(self, kind: str, addresses: np.ndarray, mask: np.ndarray | None, dtype: np.dtype):
        self.kind = kind
        self.addresses = addresses
        self.itemsize = dtype.itemsize
        self.masked = mask is not None
        if mask is not None and mask.shape != addresses.shape:
            mask = np.broadcast_to(mask, addresses.shape)
        self.partial = mask is not None and not mask.all()
        self.lanes = mask if self.partial else None
        self.flat = addresses[mask] if self.partial else addresses.ravel()

    def select(self, values: np.ndarray) -> np.ndarray:
        """The values of the lanes that take part, in the order of `flat`."""
        return values[self.lanes] if self.partial else values.ravel()


def find_place(program: tuple[int, int, int] | None = None) -> Place | None:
    """The learner's line that is running now: the innermost frame of an interpreted kernel."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code in LEARNER_CODE:
            return place_of(frame.f_code, frame.f_lineno, program)
        frame = frame.f_back
    return None


def place_of(code, line: int, program: tuple[int, int, int] | None = None) -> Place:
    """A `Place` with the line's text."""
    text = linecache.getline(code.co_filename, line).rstrip()
    return Place(code.co_filename, line, text, code.co_name, program)


VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


def stray(
    access: Access, region: Region | None, offset: np.ndarray, memory: Memory, misaligned: bool = False
) -> OutOfBounds:
    """The error for an access that went astray: tensor, first offending index, lanes, mask or none."""
    program = _program(memory.program)
    verb = VERBS[access.kind]
    fault = (access.kind, access.masked, "misaligned" if misaligned else None)
    if region is None:
        sentence = (
            f"{program} {verb} an address that belongs to no tensor of this launch. "
            "A pointer must come from a tensor argument plus an offset; was a number used as a pointer?"
        )
    elif misaligned:
        sentence = (
            f"{program} {verb} {region.views[0].name} at a byte offset that is no multiple of "
            f"{access.itemsize}: the pointer's element type and the tensor's do not fit."
        )
    else:
        bad = (offset < region.low) | (offset + access.itemsize > region.high)
        if region.valid is not None:
            inside = ~bad
            bad[inside] = ~region.valid[offset[inside]]
        number = int(np.argmax(bad))
        first = int(offset[number])
        view = _nearest(region, first)
        index = _index(access, region, view, number, first)
        fault = (access.kind, access.masked, index)
        if _between(view, index):
            fault = (*fault, "gaps")
        if memory.checked is not None:
            fault = (*fault, "block pointer")
        if memory.described is not None:
            fault = (*fault, "descriptor")
        why = _reason(access, region, view, index, memory)
        fault = (*fault, *why[0]) if why else fault
        lanes = _lanes(int(bad.sum()), access.addresses.size)
        sentence = f"{program} {verb} {_where(view, index, first)}. {lanes}{_mask(access, memory)}"
        sentence += f" {why[1]}" if why else ""
    return OutOfBounds(sentence, memory.place(), fault)


def _program(program: tuple[int, int, int]) -> str:
    return f"Program ({', '.join(str(i) for i in program)})"


def _nearest(region: Region, byte: int) -> View:
    def distance(view: View) -> int:
        low, high = view.interval()
        return 0 if low <= byte < high else min(abs(byte - low), abs(byte - high + 1))

    return min(region.views, key=distance)


def _outside(view: View, index: tuple[int, ...]) -> list[int]:
    """Dimensions along which an index lies outside."""
    return [d for d, (i, n) in enumerate(zip(index, view.shape, strict=True)) if not 0 <= i < n]


def _between(view: View, index: tuple[int, ...]) -> bool:
    """True for an index inside the shape whose memory belongs to no element: the strides leave gaps."""
    return bool(view.shape) and not _outside(view, index)


def _index(access: Access, region: Region, view: View, number: int, byte: int) -> tuple[int, ...]:
    """The index that the `number`-th lane was meant to have, if sure and outside; else the one it hits."""
    numbers = np.flatnonzero(access.lanes) if access.partial else None
    lane = np.unravel_index(int(numbers[number]) if numbers is not None else number, access.addresses.shape)
    meant = meant_index(access.addresses.astype(np.int64) - region.base, tuple(map(int, lane)), view)
    return meant if meant is not None and _outside(view, meant) else view.coordinates(byte)


def _reason(
    access: Access, region: Region, view: View, index: tuple[int, ...], memory: Memory
) -> Reason | None:
    """Why it went astray, where that is sure; a block pointer or descriptor has told its strides."""
    if memory.checked is not None or memory.described is not None:
        return None
    lanes = None
    if access.masked:
        lanes = access.lanes if access.partial else np.ones(access.addresses.shape, bool)
    others = [v for other in memory.active for v in other.views]
    bytes_in = access.addresses.astype(np.int64) - region.base
    return reason(bytes_in, lanes, view, index, memory.program, others)


def _where(view: View, index: tuple[int, ...], byte: int) -> str:
    at = f"{view.name}[{', '.join(str(i) for i in index)}]" if index else f"{view.name} at byte {byte}"
    if not view.shape:
        return f"{at}, but {view.name} is a single number"
    if 0 in view.shape:
        return f"{at}, but {view.name} is empty (shape {view.shape})"
    if _between(view, index):
        return (
            f"memory between the elements of {view.name}, next to {at}: its strides {view.strides} leave gaps"
        )
    if len(view.shape) == 1:
        n = view.shape[0]
        size = f"{n} elements (0 to {n - 1})" if n > 1 else "a single element"
        return f"{at}, but {view.name} has {size}"
    d = _outside(view, index)[0]
    bound = "begins at 0" if index[d] < 0 else f"ends at {view.shape[d] - 1}"
    return f"{at}, but {view.name} has shape {view.shape}: index {d} {bound}"


def _lanes(bad: int, total: int) -> str:
    if total == 1:
        return ""
    if bad == total:
        return f"All {total} lanes are outside. "
    return f"{bad} of the {total} lanes {'is' if bad == 1 else 'are'} outside. "


def _mask(access: Access, memory: Memory) -> str:
    """What should have kept the lanes out: a mask, a block pointer's boundary_check, a descriptor's shape."""
    checked, described = memory.checked, memory.described
    if described is not None:
        said = f"shape {described.shape} and strides {described.strides}"
        return f"Its descriptor says {said}, which is more than there is."
    if checked is not None and not checked:
        return f"The {access.kind} has no boundary_check."
    if checked is not None:
        which = f"dimension {checked[0]} alone" if len(checked) == 1 else f"dimensions {checked}"
        return f"The {access.kind}'s boundary_check names {which}."
    if access.masked:
        return f"The {access.kind} has a mask, but it lets them through."
    return f"The {access.kind} has no mask."
