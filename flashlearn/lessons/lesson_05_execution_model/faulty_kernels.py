"""Matrix products that are wrong on purpose: mistakes that a formula in torch cannot make.

Each launcher has one named fault and the right answer everywhere else. Lesson 05 declares them with the
verdict that they must get; its tests hold the check to it. None of this is ever shown as a solution.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = [
    "accumulator_in_half",
    "inner_without_mask",
    "other_strides",
    "programs_swapped",
    "store_without_mask",
    "unit_strides",
]

BLOCKS = {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 16}


@triton.jit
def _kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    i, j = tl.program_id(0), tl.program_id(1)
    if FAULT == "swapped":
        i, j = j, i
    rows = i * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = j * BLOCK_N + tl.arange(0, BLOCK_N)
    in_rows, in_columns = rows < M, columns < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    if FAULT == "half":
        acc = acc.to(c_ptr.dtype.element_ty)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        in_inner = inner < K
        if FAULT == "inner":
            in_inner = inner < K + BLOCK_K
        a = tl.load(
            a_ptr + rows[:, None] * a_row + inner[None, :] * a_col,
            mask=in_rows[:, None] & in_inner[None, :], other=0.0,
        )  # fmt: skip
        b = tl.load(
            b_ptr + inner[:, None] * b_row + columns[None, :] * b_col,
            mask=in_inner[:, None] & in_columns[None, :], other=0.0,
        )  # fmt: skip
        if FAULT == "half":
            acc = (acc + tl.dot(a, b, input_precision="ieee")).to(acc.dtype)
        else:
            acc += tl.dot(a, b, input_precision="ieee")
    c_ptrs = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    if FAULT == "store":
        tl.store(c_ptrs, acc)
    else:
        tl.store(c_ptrs, acc, mask=in_rows[:, None] & in_columns[None, :])


def _multiply(a: Tensor, b: Tensor, fault: str, strides: Callable | None = None) -> Tensor:
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    a_strides, b_strides = strides(a, b) if strides else (a.stride(), b.stride())
    grid = (triton.cdiv(M, BLOCKS["BLOCK_M"]), triton.cdiv(N, BLOCKS["BLOCK_N"]))
    _kernel[grid](a, b, c, M, N, K, *a_strides, *b_strides, *c.stride(), **BLOCKS, FAULT=fault)
    return c


def inner_without_mask(a: Tensor, b: Tensor) -> Tensor:
    """Masks rows and columns but not the inner dimension: the last block reaches beyond K."""
    return _multiply(a, b, "inner")


def store_without_mask(a: Tensor, b: Tensor) -> Tensor:
    """Stores whole tiles, beyond the edges of C."""
    return _multiply(a, b, "store")


def accumulator_in_half(a: Tensor, b: Tensor) -> Tensor:
    """Keeps the running sum in the dtype of the result."""
    return _multiply(a, b, "half")


def programs_swapped(a: Tensor, b: Tensor) -> Tensor:
    """Takes rows from program_id(1) and columns from program_id(0), against the grid."""
    return _multiply(a, b, "swapped")


def other_strides(a: Tensor, b: Tensor) -> Tensor:
    """Addresses B with the strides of A."""
    return _multiply(a, b, "", lambda a, b: (a.stride(), a.stride()))


def unit_strides(a: Tensor, b: Tensor) -> Tensor:
    """Takes both matrices for contiguous ones: rows K and N apart."""
    return _multiply(a, b, "", lambda a, b: ((a.shape[1], 1), (b.shape[1], 1)))
