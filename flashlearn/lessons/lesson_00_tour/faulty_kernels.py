"""Kernels of lesson 00 that are wrong on purpose: mistakes that a formula in torch cannot make.

Each launcher has one named fault and the right answer everywhere else. Lesson 00 declares them with the
verdict that they must get. None of this is ever shown as a solution.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

# program_ids ---------------------------------------------------------------------------------------


@triton.jit
def _ids_kernel(
    ids_ptr, n, FIRST: tl.constexpr, OFFSET: tl.constexpr, MASK: tl.constexpr, BLOCK: tl.constexpr
):
    pid = tl.program_id(0)
    offsets = tl.arange(FIRST, FIRST + BLOCK)
    if OFFSET:
        offsets += pid * BLOCK
    if MASK:
        tl.store(ids_ptr + offsets, pid, mask=offsets < n)
    else:
        tl.store(ids_ptr + offsets, pid)


def _ids(
    x: Tensor, block: int, programs: int, offset: bool = True, mask: bool = True, first: int = 0
) -> Tensor:
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    _ids_kernel[(programs,)](ids, n, FIRST=first, OFFSET=offset, MASK=mask, BLOCK=block)
    return ids


def ids_without_mask(x: Tensor, block: int) -> Tensor:
    return _ids(x, block, triton.cdiv(x.numel(), block), mask=False)


def ids_without_offset(x: Tensor, block: int) -> Tensor:
    return _ids(x, block, triton.cdiv(x.numel(), block), offset=False)


def ids_without_tail(x: Tensor, block: int) -> Tensor:
    return _ids(x, block, max(x.numel() // block, 1))  # rounded down


def ids_with_lanes_from_one(x: Tensor, block: int) -> Tensor:
    return _ids(x, block, triton.cdiv(x.numel(), block), first=1)


# row_sum -------------------------------------------------------------------------------------------


@triton.jit
def _sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, LAST: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x_ptrs = x_ptr + i * stride_row + j * stride_column
    x = tl.load(x_ptrs, mask=j < columns + LAST, other=0.0) if LAST >= 0 else tl.load(x_ptrs)
    tl.store(s_ptr + i, tl.sum(x.to(tl.float32), axis=0))


@triton.jit
def _half_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns, other=0.0)
    tl.store(s_ptr + i, tl.sum(x, axis=0))  # in the dtype of x


def _sums(x: Tensor, strides: tuple[int, int], last: int = 0) -> Tensor:
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    _sum_kernel[(rows,)](x, s, columns, *strides, LAST=last, BLOCK=triton.next_power_of_2(columns))
    return s


def sum_without_mask(x: Tensor) -> Tensor:
    return _sums(x, x.stride(), last=-1)


def sum_one_column_too_many(x: Tensor) -> Tensor:
    return _sums(x, x.stride(), last=1)  # j <= columns


def sum_of_packed_rows(x: Tensor) -> Tensor:
    return _sums(x, (x.shape[1], 1))  # as if row-major without gaps


def sum_of_swapped_strides(x: Tensor) -> Tensor:
    return _sums(x, (x.stride(1), x.stride(0)))


def sum_in_half_precision(x: Tensor) -> Tensor:
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    _half_sum_kernel[(rows,)](x, s, columns, *x.stride(), BLOCK=triton.next_power_of_2(columns))
    return s


# scaled_add ----------------------------------------------------------------------------------------


@triton.jit
def _add_kernel(
    a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y,
    OFFSET: tl.constexpr, LOAD_MASK: tl.constexpr, STORE_MASK: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    offsets = tl.arange(0, BLOCK)
    if OFFSET:
        offsets += tl.program_id(0) * BLOCK
    if LOAD_MASK:
        x = tl.load(x_ptr + offsets * stride_x, mask=offsets < n).to(tl.float32)
        y = tl.load(y_ptr + offsets * stride_y, mask=offsets < n).to(tl.float32)
    else:
        x = tl.load(x_ptr + offsets * stride_x).to(tl.float32)
        y = tl.load(y_ptr + offsets * stride_y).to(tl.float32)
    if STORE_MASK:
        tl.store(z_ptr + offsets, a * x + y, mask=offsets < n)
    else:
        tl.store(z_ptr + offsets, a * x + y)


def _add(
    a: float,
    x: Tensor,
    y: Tensor,
    strides: tuple[int, int] | None = None,
    programs: int = 0,
    offset: bool = True,
    load_mask: bool = True,
    store_mask: bool = True,
) -> Tensor:
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    stride_x, stride_y = strides or (x.stride(0), y.stride(0))
    _add_kernel[(programs or triton.cdiv(n, 256),)](
        a,
        x,
        y,
        z,
        n,
        stride_x,
        stride_y,
        OFFSET=offset,
        LOAD_MASK=load_mask,
        STORE_MASK=store_mask,
        BLOCK=256,
    )
    return z


def add_without_mask(a: float, x: Tensor, y: Tensor) -> Tensor:
    return _add(a, x, y, load_mask=False)


def add_without_store_mask(a: float, x: Tensor, y: Tensor) -> Tensor:
    return _add(a, x, y, store_mask=False)


def add_without_offset(a: float, x: Tensor, y: Tensor) -> Tensor:
    return _add(a, x, y, offset=False)


def add_without_tail(a: float, x: Tensor, y: Tensor) -> Tensor:
    return _add(a, x, y, programs=max(x.numel() // 256, 1))  # rounded down


def add_with_unit_strides(a: float, x: Tensor, y: Tensor) -> Tensor:
    return _add(a, x, y, strides=(1, 1))
