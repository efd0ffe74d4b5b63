"""The bounds of every access: its tensor and its elements, or the sentence for one that is out of bounds."""

from __future__ import annotations

import numpy as np

from flashlearn.interpreter.address_space import Access, AddressSpace
from flashlearn.interpreter.errors import OutOfBounds
from flashlearn.interpreter.learner_code import Program
from flashlearn.interpreter.outside.access import Cause, OutsideAccess
from flashlearn.interpreter.outside.causes import cause_of
from flashlearn.interpreter.shadow import REGION_BITS, Region
from flashlearn.interpreter.stride_mismatch import Reason, intended_index, reason
from flashlearn.interpreter.views import View

VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}


def resolve(access: Access, space: AddressSpace) -> None:
    """Find the region and the elements of an access. Raises OutOfBounds."""
    flat = access.flat
    if flat.size == 0:
        access.region, access.index = None, flat
        return
    region = space.regions.get(int(flat[0]) >> REGION_BITS)
    if region is None or not region.views:
        raise out_of_bounds(access, None, flat, space)
    offset = (flat - np.uint64(region.base)).view(np.int64)
    low, high = int(offset.min()), int(offset.max()) + access.itemsize
    inside = low >= region.low and high <= region.high
    if not inside or (region.valid is not None and not region.valid[offset].all()):
        raise out_of_bounds(access, region, offset, space)
    if access.itemsize > 1 and (offset & (access.itemsize - 1)).any():
        raise out_of_bounds(access, region, offset, space, misaligned=True)
    access.region, access.index = region, offset // access.itemsize


def out_of_bounds(
    access: Access, region: Region | None, offset: np.ndarray, space: AddressSpace, misaligned: bool = False
) -> OutOfBounds:
    """The error for an access out of bounds: tensor, first offending index, lanes, and the mask, if any."""
    if not space.explains:
        return OutOfBounds("An access is out of bounds.")
    program = _program(space.program)
    verb = VERBS[access.kind]
    fault = (access.kind, access.masked, "misaligned" if misaligned else None)
    if region is None:
        sentence = (
            f"{program} {verb} an address that belongs to no tensor of this launch. "
            "A pointer must come from a tensor argument plus an offset; was a number used as a pointer?"
        )
    elif misaligned:
        sentence = (
            f"{program} {verb} {_nearest(region, int(offset[0])).name} at a byte offset that is not a "
            f"multiple of {access.itemsize}: the pointer's element type and the tensor's do not match."
        )
    else:
        bad = (offset < region.low) | (offset + access.itemsize > region.high)
        if region.valid is not None:
            inside = ~bad
            bad[inside] = ~region.valid[offset[inside]]
        number = int(np.argmax(bad))
        first = int(offset[number])
        view = _nearest(region, first)
        meant = _meant(access, region, view, number)
        index = view.coordinates(first) if meant is None else meant
        fault = (access.kind, access.masked, index)
        if _between(view, index):
            fault = (*fault, "gaps")
        if space.boundary_check is not None:
            fault = (*fault, "block pointer")
        if space.descriptor is not None:
            fault = (*fault, "descriptor")
        why = _reason(access, region, view, index, space)
        sure = meant is not None or len(view.shape) < 2
        fault = (*fault, *why[0]) if why else (*fault, *(_how_far(view, index) if sure else ()))
        exchanged = why is not None and why[0] == ("exchanged",)
        cause = _cause(access, region, view, space, number)
        if cause is not None and not exchanged:
            fault = (*fault, ("cause", cause.key))
            known = cause.index is not None and _outside(view, cause.index)
            index, sure = (cause.index, True) if known else (index, sure)
        if access.addresses.size == 1 and not access.masked:
            fault = (*fault, "one element")
        outside = int(bad.sum())
        lanes = _lanes(outside, access.addresses.size, _between(view, index))
        at = _where(view, index, first) if sure or exchanged else _how_far_away(view, index, first)
        sentence = f"{program} {verb} {at}. {lanes}{_mask(access, space, outside)}"
        sentence = sentence.rstrip()
        sentence += f" {cause.sentence}" if cause is not None else f" {why[1]}" if why and why[1] else ""
    return OutOfBounds(sentence, space.place(), fault)


def _program(program: Program) -> str:
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


def _meant(access: Access, region: Region, view: View, number: int) -> tuple[int, ...] | None:
    """The index that the `number`-th lane was meant to have, if that is sure and outside."""
    meant = intended_index(access.addresses.astype(np.int64) - region.base, _lane(access, number), view)
    return meant if meant is not None and _outside(view, meant) else None


def _how_far(view: View, index: tuple[int, ...]) -> tuple[str, ...]:
    """("below",) for an index below 0, ("far",) for the only index of a tensor that is too large."""
    if not view.shape or 0 in view.shape or not _outside(view, index):
        return ()
    if index[_outside(view, index)[0]] < 0:
        return ("below",)
    return ("far",) if len(view.shape) == 1 and view.shape[0] > 1 else ()


def _reason(
    access: Access, region: Region, view: View, index: tuple[int, ...], space: AddressSpace
) -> Reason | None:
    """Why it is out of bounds, where that is sure; a block pointer or descriptor declares its strides."""
    if space.boundary_check is not None or space.descriptor is not None:
        return None
    lanes = None
    if access.masked:
        lanes = access.lanes if access.partial else np.ones(access.addresses.shape, bool)
    others = [v for other in space.active for v in other.views]
    bytes_in = access.addresses.astype(np.int64) - region.base
    return reason(bytes_in, lanes, view, index, space.program, others)


def _lane(access: Access, number: int) -> tuple[int, ...]:
    """The place in its tile of the `number`-th lane that takes part."""
    numbers = np.flatnonzero(access.lanes) if access.partial else None
    lane = np.unravel_index(int(numbers[number]) if numbers is not None else number, access.addresses.shape)
    return tuple(map(int, lane))


def _cause(access: Access, region: Region, view: View, space: AddressSpace, number: int) -> Cause | None:
    """What is wrong with the address or the mask as the kernel writes them, where that is sure."""
    if space.boundary_check is not None or space.descriptor is not None:
        return None
    lanes = access.lanes if access.partial else np.ones(access.addresses.shape, bool)
    who = (space.program, space.grid, access.kind, access.masked, _lane(access, number))
    others = tuple(v for other in space.active for v in other.views if len(v.shape) == len(view.shape))
    return cause_of(OutsideAccess(access.addresses, lanes, region, view, *who, others))


def _where(view: View, index: tuple[int, ...], byte: int) -> str:
    at = f"{view.name}[{', '.join(str(i) for i in index)}]" if index else f"{view.name} at byte {byte}"
    if not view.shape:
        return f"{at}, but {view.name} is a single number"
    if 0 in view.shape:
        return f"{at}, but {view.name} is empty (shape {view.shape})"
    if _between(view, index) and any(not s and n > 1 for s, n in zip(view.strides, view.shape, strict=True)):
        return f"memory beside the elements of {view.name}, next to {at}: its strides are {view.strides}"
    if _between(view, index):
        several = len(view.shape) > 1
        gaps = f"strides {view.strides} leave" if several else f"stride of {view.strides[0]} leaves"
        return f"memory between the elements of {view.name}, next to {at}: its {gaps} gaps"
    if len(view.shape) == 1:
        n = view.shape[0]
        size = f"{n} elements (0 to {n - 1})" if n > 1 else "a single element"
        return f"{at}, but {view.name} has {size}"
    d = _outside(view, index)[0]
    bound = "must not be negative" if index[d] < 0 else f"must not exceed {view.shape[d] - 1}"
    return f"{at}, but {view.name} has shape {view.shape}: index {d} {bound}"


def _how_far_away(view: View, index: tuple[int, ...], byte: int) -> str:
    """How far from the tensor an address lies of which it is not known by which indices it was reached."""
    if not view.shape or 0 in view.shape or _between(view, index):
        return _where(view, index, byte)
    at = byte // view.itemsize - view.offset
    last = sum((n - 1) * stride for n, stride in zip(view.shape, view.strides, strict=True))
    if 0 <= at <= last:
        layout = f"shape {view.shape} and strides {view.strides}"
        return f"memory between the elements of {view.name}, which has {layout}"
    side, apart = ("before the beginning", -at) if at < 0 else ("past the end", at - last)
    elements = "1 element" if apart == 1 else f"{apart} elements"
    return f"a place {elements} {side} of {view.name}, which has shape {view.shape}"


def _lanes(bad: int, total: int, between: bool = False) -> str:
    """How many lanes are outside; lanes between a tensor's elements are called astray."""
    if total == 1:
        return ""
    where = "hit no element" if between else "lie outside its memory"
    if bad == total:
        return f"{'Both' if total == 2 else f'All {total}'} lanes {where}. "
    if bad == 1:
        where = "hits no element" if between else "lies outside its memory"
    return f"{bad} of the {total} lanes {where}. "


def _mask(access: Access, space: AddressSpace, outside: int) -> str:
    """What should have kept the lanes out: a mask, a block pointer's boundary_check, a descriptor's shape."""
    checked, described = space.boundary_check, space.descriptor
    if described is not None:
        message = f"shape {described.shape} and strides {described.strides}"
        return f"Its descriptor has {message}, which covers more than the tensor."
    if checked is not None and not checked:
        return f"The {access.kind} has no boundary_check."
    if checked is not None:
        which = f"dimension {checked[0]} alone" if len(checked) == 1 else f"dimensions {checked}"
        return f"The {access.kind}'s boundary_check names {which}."
    if access.masked:
        return f"The {access.kind}'s mask is true for {'it' if outside == 1 else 'them'}."
    return "" if access.addresses.size == 1 else f"The {access.kind} has no mask."
