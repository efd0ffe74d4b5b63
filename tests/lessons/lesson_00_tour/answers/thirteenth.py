"""Answers to lesson 00, written without a look at what the grader knows: the thirteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "program_ids",
    "line mask=lane < n: the mask compares the lane with n in place of the element, so the last "
    "program stores past the end",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    tl.store(ids_ptr + me * BLOCK + lane, me, mask=lane < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
""",
        title="lane mask",
    )
)

wrong(
    "row_sum",
    "line ok = where < columns: the mask compares the address offset j * stride_column with "
    "columns, so strided columns and transposed matrices lose most of the row",
    "last tile missing",
)(
    written(
        """
from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    where = tl.arange(0, BLOCK) * stride_column
    ok = where < columns
    values = tl.load(x_ptr + row * stride_row + where, mask=ok, other=0.0)
    tl.store(s_ptr + row, tl.sum(values.to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=triton.next_power_of_2(columns))
    return s
""",
        title="mask on address",
    )
)

wrong(
    "row_sum",
    "line s_ptr += i * stride_row: the sums are stored with the row stride of x, although s is a "
    "dense vector",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    x_ptr += i * stride_row
    s_ptr += i * stride_row
    cols = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + cols * stride_column, mask=cols < columns, other=0.0).to(tl.float32)
    tl.store(s_ptr, tl.sum(v, 0))


def row_sum(x: Tensor) -> Tensor:
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
""",
        title="output by x stride",
    )
)

wrong(
    "scaled_add",
    "line scaled_add_kernel[...](a, x.contiguous(), y, ...): only x is copied into a dense "
    "vector, y is still read with stride 1 when it has gaps",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    idx = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    keep = idx < n
    x = tl.load(x_ptr + idx, mask=keep, other=0.0)
    y = tl.load(y_ptr + idx, mask=keep, other=0.0)
    z = a * x.to(tl.float32) + y.to(tl.float32)
    tl.store(z_ptr + idx, z, mask=keep)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.shape[0]
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, 512),)](a, x.contiguous(), y, z, n, BLOCK=512)
    return z
""",
        title="y not made contiguous",
    )
)

wrong(
    "scaled_add",
    "two: grid = (max(1, n // BLOCK),) rounds the programs down, so the tail is never written; "
    "and a * (x + y) scales y too",
    "never written + a scales the sum",
)(
    written(
        """
from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    start = pid.to(tl.int64) * BLOCK
    k = start + tl.arange(0, BLOCK)
    inside = k < n
    x = tl.load(x_ptr + k * stride_x, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + k * stride_y, mask=inside).to(tl.float32)
    tl.store(z_ptr + k, a * (x + y), mask=inside)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    BLOCK = 256
    grid = (max(1, n // BLOCK),)
    scaled_add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
""",
        title="floor grid and bracket",
    )
)

right("program_ids", "integer division")(
    written(
        """
from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(ids_ptr + i, i // BLOCK, mask=i < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    program_ids_kernel[(triton.cdiv(n, block),)](ids, n, BLOCK=block)
    return ids
"""
    )
)

right("row_sum", "row in pieces")(
    written(
        """
from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, CHUNK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.zeros((CHUNK,), tl.float32)
    for left in range(0, columns, CHUNK):
        c = (left + tl.arange(0, CHUNK)).to(tl.int64)
        lanes += tl.load(x_ptr + row * stride_row + c * stride_column, mask=c < columns, other=0.0).to(tl.float32)
    tl.store(s_ptr + row, tl.sum(lanes, axis=0))


def row_sum(x: Tensor) -> Tensor:
    s = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    row_sum_kernel[(x.shape[0],)](x, s, x.shape[1], *x.stride(), CHUNK=64)
    return s
"""
    )
)
