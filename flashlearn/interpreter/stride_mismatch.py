"""Why a tile of addresses is out of bounds, where its numbers show it: other strides, or exchanged ones.

Neighbouring lanes of a tile lie as far apart as the kernel's strides have it. That may be no stride of the
tensor, but another tensor's; or a stride is left out, and lanes lie 1 apart.

An address beyond the end of a row is that of the next row's first element. `intended_index` is the index that
the kernel has multiplied by the strides. It still shows in the tile as a whole: where its axes move by
strides of the tensor, each lane has the index of the first lane plus its own number.

>>> # rows 32 … 63 and inner 64 … 95 of a (37, 70) matrix: the lane (0, 6) is a[32, 70], not a[33, 0]
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

import numpy as np

from flashlearn.interpreter.views import View

Reason = tuple[tuple, str]
"""What a fault is marked with, ("steps", the tile's, the view's) or ("exchanged",), and a sentence or ""."""

MOST_OWNERS = 3


def reason(
    bytes_in: np.ndarray,
    lanes: np.ndarray | None,
    view: View,
    index: tuple[int, ...],
    program: tuple[int, int, int],
    others: Iterable[View],
) -> Reason | None:
    """Why a program's tile of byte offsets leaves a view, at `index` first, if that is sure.

    `lanes` are those that its mask lets through, None without a mask.
    """
    steps = _steps(bytes_in, view)
    if not steps:
        return None
    found = _dimensions(steps, view)
    if found is None:
        sentence = _other_strides(tuple(steps.values()), view, others)
        return (("steps", tuple(sorted(steps.values())), view.strides), sentence) if sentence else None
    if _exchanged_indices(index, program, view):
        return ("exchanged",), "With indices 0 and 1 exchanged it would be inside."
    if lanes is not None and _fits_exchanged(bytes_in, lanes, dict(zip(steps, found, strict=True)), view):
        return ("exchanged",), ""  # a wrong mask may do the same: which it is, the numbers do not show
    return None


def _exchanged_indices(index: tuple[int, ...], program: tuple[int, int, int], view: View) -> bool:
    """Whether the first two indices are the program's numbers in the wrong order.

    They are two of its numbers, or one of them divided by the length of dimension 1, and the rest. Where one
    of them is 0 that says nothing.
    """
    if len(index) < 3 or index[0] == index[1] or 0 in index[:2] or _inside(index, view):
        return False
    heads = view.shape[1]
    numbers = (*permutations(program, 2), *((number % heads, number // heads) for number in program))
    return index[:2] in numbers and _inside((index[1], index[0], *index[2:]), view)


def _inside(index: tuple[int, ...], view: View) -> bool:
    return all(0 <= i < n for i, n in zip(index, view.shape, strict=True))


def _steps(bytes_in: np.ndarray, view: View) -> dict[int, int]:
    """By how many elements each axis of the tile moves; none if one of them does not move evenly, or back."""
    steps = {}
    for axis, size in enumerate(bytes_in.shape):
        if size == 1:
            continue
        apart = np.diff(bytes_in, axis=axis)
        step = int(apart.flat[0])
        if step < 0 or step % view.itemsize or not bool((apart == step).all()):
            return {}
        if step:
            steps[axis] = step // view.itemsize
    return steps


def _dimensions(steps: dict[int, int], view: View) -> tuple[int, ...] | None:
    """The dimensions of the view by whose strides the axes move; None if there are none of these."""
    for dims in permutations(range(len(view.shape)), len(steps)):
        if all(view.strides[d] == step for d, step in zip(dims, steps.values(), strict=True)):
            return dims
    return None


def _other_strides(steps: tuple[int, ...], view: View, others: Iterable[View]) -> str:
    if len(view.shape) == 1 < len(steps):
        return ""  # numbers in one row, of which the kernel makes rows and columns
    wanted = dict(enumerate(steps))
    alike = (v for v in others if v.name != view.name and len(v.shape) == len(view.shape))
    owners = list(dict.fromkeys(v.name for v in alike if _dimensions(wanted, v) is not None))
    if not owners and (1 not in steps or 1 in view.strides):
        return ""  # every second element on purpose, or several rows that are one dimension of the tensor
    apart = " and ".join(map(str, steps)) + (" element apart" if steps == (1,) else " elements apart")
    apart += " along the tile's axes" if len(steps) > 1 else ""
    named = steps != (1,) and 0 < len(owners) <= MOST_OWNERS
    as_in = f", as in {_listed(owners)}" if named else ""
    one = len(view.strides) == 1
    strides = f"stride {view.strides[0]}" if one else f"strides {view.strides}"
    return f"Neighbouring lanes lie {apart}{as_in}, but {view.name} has the {strides}."


def _fits_exchanged(bytes_in: np.ndarray, lanes: np.ndarray, dims: dict[int, int], view: View) -> bool:
    """Whether all active lanes of a tile that begins at [0, 0] are inside if its strides change places."""
    if len(view.shape) != 2 or len(dims) != 2 or not lanes.any():
        return False
    if int(bytes_in.flat[0]) != view.offset * view.itemsize:
        return False
    active = np.argwhere(lanes).max(axis=0)
    return all(int(active[axis]) < view.shape[1 - d] for axis, d in dims.items())


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


Index = tuple[int, ...]


def intended_index(bytes_in: np.ndarray, lane: Index, view: View) -> Index | None:
    """The index that `lane` of a tile of byte offsets has; None where that is not sure.

    Along an axis that moves by a stride of the view, the lane is followed back to the axis's beginning; what
    it comes from must lie inside. An axis that moves otherwise, by rows modulo their number, say, is left.
    """
    start, moved = list(lane), {}
    for axis, size in enumerate(bytes_in.shape):
        steps = np.diff(bytes_in, axis=axis)
        if size == 1 or not bool((steps == steps.flat[0]).all()):
            continue
        fitting = [d for d, s in enumerate(view.strides) if s * view.itemsize == int(steps.flat[0])]
        if len(fitting) != 1 or fitting[0] in moved:
            return None
        moved[fitting[0]], start[axis] = lane[axis], 0
    index = view.coordinates(int(bytes_in[tuple(start)]))
    if not view.shape or any(not 0 <= i < n for i, n in zip(index, view.shape, strict=True)):
        return None
    fixed = [s for d, s in enumerate(view.strides) if d not in moved and s and view.shape[d] > 1]
    if any(index[d] and 0 < s < view.strides[d] for d in moved for s in fixed):
        return None  # a head that is too large, say, leads to the next row in memory
    return tuple(i + moved.get(d, 0) for d, i in enumerate(index))
