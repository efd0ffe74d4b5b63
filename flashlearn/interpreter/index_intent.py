"""Which element an address was intended to be: the indices that the kernel has multiplied by the strides.

An address beyond the end of a row is that of the next row's first element. What the kernel intended still
shows in the tile as a whole: where its axes move by strides of the tensor, each lane has the index of the
first lane plus its own number.

>>> # rows 32 … 63 and inner 64 … 95 of a (37, 70) matrix: the lane (0, 6) is a[32, 70], not a[33, 0]
"""

from __future__ import annotations

import numpy as np

from flashlearn.interpreter.shadow import View

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
    return tuple(i + moved.get(d, 0) for d, i in enumerate(index))
