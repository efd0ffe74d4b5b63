"""Tensors as a Hopper GPU's copy engine wants them described, and the order in which heads are worked on.

    >>> q = torch.randn(2, 4, 100, 40, dtype=torch.bfloat16)
    >>> described(q, 64).block_shape                # a block of 64 rows of one head, padded to 64 columns
    [1, 1, 64, 64]

A block that reaches beyond the tensor reads zeros there and stores nothing, so that kernels need no masks
for rows and columns that are not there. The tensor memory accelerator asks that the last stride be 1, that
every other stride and the first address be multiples of 16 bytes, and that no stride be 0 (CUDA Driver API,
cuTensorMapEncodeTiled): what does not comply is copied once.
"""

from __future__ import annotations

import torch
import triton
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

__all__ = ["block_d", "complying", "described", "heads_together", "like"]

ALIGNED = 16
"""Bytes."""
IN_CACHE = 8 * 2**20
"""Bytes that the tensors which heads scan at the same time may hold together: a part of the L2 cache."""
TOGETHER = 64
"""Programs of one block each that take turns among heads where no mask is; tried out on an H200."""


def block_d(D: int) -> int:
    """Columns of a block for rows of D elements: the next power of two, and 16 at least, for `tl.dot`."""
    return max(16, triton.next_power_of_2(D))


def described(t: Tensor, rows: int, columns: int | None = None) -> TensorDescriptor:
    """Blocks of `rows` rows of one head of t [B, H, S, D], which complies (see `complying`).

    They have `block_d(D)` columns unless said.
    """
    sizes, strides = list(t.shape), list(t.stride())
    for side in range(3):
        if sizes[side] == 1:  # never used, and torch leaves anything there
            strides[side] = strides[2] if side < 2 and sizes[2] > 1 else block_d(sizes[3])
    return TensorDescriptor(t, sizes, strides, [1, 1, rows, columns or block_d(t.shape[3])])


def complying(t: Tensor) -> Tensor:
    """t itself if it can be described where it lies, else a copy with rows at multiples of 16 bytes."""
    size = t.element_size()
    outer = [stride for side, stride in zip(t.shape[:3], t.stride()[:3], strict=True) if side > 1]
    if (
        t.stride(3) == 1
        and t.data_ptr() % ALIGNED == 0
        and all(stride > 0 and stride * size % ALIGNED == 0 for stride in outer)
    ):
        return t
    return like(t, t.shape).copy_(t)


def like(t: Tensor, shape: torch.Size | tuple[int, ...]) -> Tensor:
    """Uninitialised, of t's dtype and device and the given shape, dense but for the padding of its rows."""
    per_row = ALIGNED // t.element_size()
    padded = -(-shape[-1] // per_row) * per_row
    made = torch.empty((*shape[:-1], padded), dtype=t.dtype, device=t.device)
    return made if padded == shape[-1] else made[..., : shape[-1]]


def heads_together(heads: int, tiles: int, bytes_per_head: int, causal: bool) -> int:
    """How many heads to work on side by side: neighbouring programs take the same block of these heads.

    Under a causal mask as many as the L2 cache can hold, so that the longest blocks of all of them come
    first; else as few as fill `TOGETHER` programs. Both were tried out on an H200. It divides `heads`.
    """
    wanted = IN_CACHE // max(1, bytes_per_head) if causal else TOGETHER // tiles
    together = max(1, min(heads, wanted))
    while heads % together:
        together -= 1
    return together
