"""Answers to lesson 00, written without a look at what the grader knows: the fourteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "program_ids",
    "line `tl.store`: stores the lane number inside the block (threadIdx) instead of the program number",
    "lane numbers",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    # ids_ptr: address of ids[0]; n: how many elements ids has; BLOCK: lanes of one program
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK] the elements this program owns
    lane = offsets % BLOCK
    tl.store(ids_ptr + offsets, lane, mask=offsets < n)  # writes n elements in all


def program_ids(x: Tensor, block: int) -> Tensor:
    """ids[i] = i // block, the program that owns element i: x [n] of any dtype → ids [n], int32."""
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
''',
        title="lane number",
    )
)

wrong(
    "row_sum",
    "line `s = tl.sum(...)`: the sum runs in the dtype of x and only its result is converted to fp32",
    "summed in half precision",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
  
  
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < columns
  
    x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=in_row, other=0.0)
    s = tl.sum(x.to(s_ptr.dtype.element_ty), axis=0, dtype=s_ptr.dtype.element_ty).to(tl.float32)
    tl.store(s_ptr + i, s)


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
''',
        title="reduced before cast",
    )
)

wrong(
    "row_sum",
    "line `v = tl.load`: uses `row * columns + lane`, a C array index, so strides of x are ignored",
    "rows taken as packed",
)(
    written(
        """
from torch import Tensor


@triton.jit
def my_row_sum(src, dst, W, BLOCK: tl.constexpr):
    blockIdx = tl.program_id(0).to(tl.int64)
    threadIdx = tl.arange(0, BLOCK)
    v = tl.load(src + blockIdx * W + threadIdx, mask=threadIdx < W, other=0.0)
    tl.store(dst + blockIdx, tl.sum(v.to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    H, W = x.shape
    out = torch.empty(H, dtype=x.dtype, device=x.device)
    my_row_sum[(H,)](x, out, W, BLOCK=triton.next_power_of_2(W))
    return out
""",
        title="contiguous row assumed",
    )
)

wrong(
    "scaled_add",
    "line `grid = (n // 256,)`: the grid is rounded down, so the ragged tail has no program",
    "never written",
)(
    written(
        """
from torch import Tensor


@triton.jit
def axpy(a, x, y, z, n, sx, sy, BLOCK: tl.constexpr):
    tid = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = tid < n
    xv = tl.load(x + tid * sx, mask=inside).to(tl.float32)
    yv = tl.load(y + tid * sy, mask=inside).to(tl.float32)
    tl.store(z + tid, a * xv + yv, mask=inside)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    grid = (n // 256,)
    axpy[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
    return z
""",
        title="grid rounded down",
    )
)

wrong(
    "scaled_add",
    "line `z = y`: the result is written over the input y instead of into new memory (and is not "
    "contiguous where y is not)",
    "out_of_bounds",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    # x[i] lies at x_ptr + i * stride_x, y[i] at y_ptr + i * stride_y, z is contiguous
    pid = tl.program_id(0).to(tl.int64)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK]
    in_vector = offsets < n
    # no other=: what padded lanes hold is computed with, but never stored
    x = tl.load(x_ptr + offsets * stride_x, mask=in_vector).to(tl.float32)
    y = tl.load(y_ptr + offsets * stride_y, mask=in_vector).to(tl.float32)
    tl.store(z_ptr + offsets, a * x + y, mask=in_vector)  # reads 2n, writes n elements in all


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    """z = a·x + y: two vectors [n] of any strides → [n] contiguous, in the dtype of x."""
    n = x.numel()
    z = y
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    scaled_add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
''',
        title="in place in y",
    )
)
