"""Column sums that are wrong on purpose: mistakes that a formula in torch cannot make.

Each launcher has one named fault and the right answer everywhere else. Lesson 01 declares them with the
verdict that they must get. None of this is ever shown as a solution.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = [
    "atomics_onto_empty",
    "in_half_precision",
    "load_then_store",
    "rows_without_mask",
    "strides_swapped",
]

BLOCK_M, BLOCK_N = 32, 64


@triton.jit
def _loop_kernel(
    dy_ptr, db_ptr, M, N, dy_row, dy_col, FAULT: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    j = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_columns = j < N
    db = tl.zeros([BLOCK_N], tl.float32)
    for start in range(0, M, BLOCK_M):
        i = start + tl.arange(0, BLOCK_M)
        in_tile = (i < M)[:, None] & in_columns[None, :]
        dy_ptrs = dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col
        if FAULT == "no row mask":
            dy = tl.load(dy_ptrs, mask=in_columns[None, :], other=0.0)
        else:
            dy = tl.load(dy_ptrs, mask=in_tile, other=0.0)
        if FAULT == "half":
            db += tl.sum(dy, axis=0)  # the tile is summed in the dtype of dy
        else:
            db += tl.sum(dy.to(tl.float32), axis=0)
    tl.store(db_ptr + j, db, mask=in_columns)


def _loop(dy: Tensor, fault: str = "", strides: tuple[int, int] | None = None) -> Tensor:
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    row, column = strides or dy.stride()
    _loop_kernel[(triton.cdiv(N, BLOCK_N),)](
        dy, db, M, N, row, column, FAULT=fault, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return db


@triton.jit
def _tiles_kernel(
    dy_ptr, db_ptr, M, N, dy_row, dy_col, ATOMIC: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    i = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_columns = j < N
    in_tile = (i < M)[:, None] & in_columns[None, :]
    dy = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=in_tile, other=0.0)
    partial = tl.sum(dy.to(tl.float32), axis=0)
    if ATOMIC:
        tl.atomic_add(db_ptr + j, partial, mask=in_columns)
    else:
        before = tl.load(db_ptr + j, mask=in_columns, other=0.0)
        tl.store(db_ptr + j, before + partial, mask=in_columns)


def _tiles(dy: Tensor, db: Tensor, atomic: bool) -> Tensor:
    M, N = dy.shape
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    _tiles_kernel[grid](dy, db, M, N, *dy.stride(), ATOMIC=atomic, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db.to(dy.dtype)


def rows_without_mask(dy: Tensor) -> Tensor:
    """Masks the columns; the last tile reads rows that do not exist."""
    return _loop(dy, "no row mask")


def in_half_precision(dy: Tensor) -> Tensor:
    """Sums each tile in the dtype of dy."""
    return _loop(dy, "half")


def strides_swapped(dy: Tensor) -> Tensor:
    """Walks along a row where it should walk down a column."""
    return _loop(dy, strides=(dy.stride(1), dy.stride(0)))


def load_then_store(dy: Tensor) -> Tensor:
    """One program per tile; each adds to db with a plain load and a plain store."""
    return _tiles(dy, torch.zeros(dy.shape[1], dtype=torch.float32, device=dy.device), atomic=False)


def atomics_onto_empty(dy: Tensor) -> Tensor:
    """One program per tile, added atomically onto memory that nobody set to zero."""
    return _tiles(dy, torch.empty(dy.shape[1], dtype=torch.float32, device=dy.device), atomic=True)
