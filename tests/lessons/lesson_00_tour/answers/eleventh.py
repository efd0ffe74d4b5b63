"""Answers to lesson 00, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "program_ids",
    "the line `where = pid + lane * tl.num_programs(0)` deals elements out in turn (a CUDA grid-"
    "stride habit) instead of giving each program BLOCK neighbours, so ids[i] is i % programs",
    "dealt out in turn",
)(
    written(
        """
from torch import Tensor


@triton.jit
def whose_is_it(ids_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    where = pid + lane * tl.num_programs(0)
    tl.store(ids_ptr + where, pid, mask=where < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    count = x.numel()
    ids = torch.empty(count, dtype=torch.int32, device=x.device)
    whose_is_it[(triton.cdiv(count, block),)](ids, count, BLOCK=block)
    return ids
""",
        title="grid stride",
    )
)

wrong(
    "scaled_add",
    "two faults: `first = pid * BLOCK * stride` multiplies the stride into the first offset only "
    "and the lanes then go up by 1, and `z = torch.empty(n, device=x.device)` is always fp32 "
    "instead of the dtype of x",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def axpy(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    keep = pid * BLOCK + lanes < n
    x = tl.load(x_ptr + pid * BLOCK * stride_x + lanes, mask=keep).to(tl.float32)
    y = tl.load(y_ptr + pid * BLOCK * stride_y + lanes, mask=keep).to(tl.float32)
    tl.store(z_ptr + pid * BLOCK + lanes, a * x + y, mask=keep)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.shape[0]
    z = torch.empty(n, device=x.device)
    axpy[(triton.cdiv(n, 512),)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=512)
    return z
""",
        title="stride on start only",
    )
)

right("row_sum", "clamped index")(
    written(
        """
from torch import Tensor


@triton.jit
def clamp_and_add(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    inside = tl.minimum(lane, columns - 1).to(tl.int64)
    x = tl.load(x_ptr + (row * stride_row + inside * stride_column)).to(tl.float32)
    tl.store(s_ptr + row, tl.sum(x * (lane < columns).to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    rows, columns = x.shape
    s = x.new_empty(rows)
    clamp_and_add[(rows,)](
        x, s, columns, *x.stride(), BLOCK=triton.next_power_of_2(columns)
    )
    return s
"""
    )
)
