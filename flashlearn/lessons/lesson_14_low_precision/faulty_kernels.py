"""The kernels of lesson 14 with a fault that no formula in torch can make."""

from __future__ import annotations

import functools
from collections.abc import Callable

from flashlearn.kernels import low_precision
from flashlearn.lessons.shared.variants import variant

FAULTS = {
    "quantize_blocks": {
        "no mask": (
            (
                "x = tl.load(x_at, mask=inside, other=0.0).to(tl.float32)",
                "x = tl.load(x_at).to(tl.float32)",
            ),
        )
    },
    "hadamard_rotate": {
        "no mask": (
            (
                "x = tl.load(x_ptr + rows[:, None] * x_row + d[None, :] * x_col, mask=in_rows, other=0.0)",
                "x = tl.load(x_ptr + rows[:, None] * x_row + d[None, :] * x_col)",
            ),
        )
    },
}
_KERNELS = {
    "quantize_blocks": (low_precision.quantize_blocks, low_precision.quantize_blocks_kernel),
    "hadamard_rotate": (low_precision.hadamard_rotate, low_precision.hadamard_rotate_kernel),
}


@functools.cache
def faulty(launcher: str, fault: str) -> Callable:
    """The launcher with one fault of FAULTS."""
    function, kernel = _KERNELS[launcher]
    return variant(function, kernel, edits=FAULTS[launcher][fault])
