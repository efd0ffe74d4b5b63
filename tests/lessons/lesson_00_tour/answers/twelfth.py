"""Answers to lesson 00, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "program_ids",
    "the store writes `lanes`, the place inside the block (CUDA threadIdx), instead of the number"
    " of the program.",
    "lane numbers",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    # ids_ptr: address of ids[0]; n: how many elements ids has; BLOCK: lanes of one program
    block_id = tl.program_id(axis=0)
    lanes = tl.arange(0, BLOCK)
    idx = block_id * BLOCK + lanes
    tl.store(ids_ptr + idx, lanes, mask=idx < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    """ids[i] = i // block, the program that owns element i: x [n] of any dtype → ids [n], int32."""
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
''',
        title="thread index",
    )
)

wrong(
    "row_sum",
    "the strides are swapped in the address: `row * stride_column + cols * stride_row` reads the "
    "transposed matrix.",
    "strides swapped",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    # x[i, j] lies at x_ptr + i * stride_row + j * stride_column, counted in elements
    # BLOCK is a power of two and at least `columns`
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_column + cols * stride_row, mask=cols < columns, other=0.0)
    tl.store(s_ptr + row, tl.sum(x.to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
''',
        title="stride off by name",
    )
)

wrong(
    "row_sum",
    "`tl.sum(x, axis=0).to(tl.float32)` adds in the dtype of x (fp16) and converts only the finished sum.",
    "summed in half precision",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    # x[i, j] lies at x_ptr + i * stride_row + j * stride_column, counted in elements
    # BLOCK is a power of two and at least `columns`
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_row + cols * stride_column, mask=cols < columns, other=0)
    total = tl.sum(x, axis=0).to(tl.float32)
    tl.store(s_ptr + row, total)


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
''',
        title="sum then cast",
    )
)

wrong(
    "scaled_add",
    "two: `grid = (n // BLOCK,)` leaves the ragged tail without a program, and z is stored with "
    "the stride of x (`z_ptr + i * sx`).",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def axpy(a, x_ptr, y_ptr, z_ptr, n, sx, sy, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    x = tl.load(x_ptr + i * sx, mask=ok, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + i * sy, mask=ok, other=0.0).to(tl.float32)
    tl.store(z_ptr + i * sx, a * x + y, mask=ok)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.shape[0]
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    BLOCK = 256
    grid = (n // BLOCK,)
    axpy[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
""",
        title="floor grid and out stride",
    )
)

right("program_ids", "by division")(
    written(
        '''
from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    # ids_ptr: address of ids[0]; n: how many elements ids has; BLOCK: lanes of one program
    first = tl.program_id(axis=0) * BLOCK
    where = first + tl.arange(0, BLOCK)
    tl.store(ids_ptr + where, where // BLOCK, where < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    """ids[i] = i // block, the program that owns element i: x [n] of any dtype → ids [n], int32."""
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
'''
    )
)

right("row_sum", "two dimensional tile")(
    written(
        '''
from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    # x[i, j] lies at x_ptr + i * stride_row + j * stride_column, counted in elements
    # BLOCK is a power of two and at least `columns`
    r = tl.program_id(0).to(tl.int64) + tl.zeros((1,), tl.int64)
    c = tl.arange(0, BLOCK)
    at = r[:, None] * stride_row + c[None, :] * stride_column
    x = tl.load(x_ptr + at, mask=(c < columns)[None, :], other=0.0)
    tl.store(s_ptr + r, tl.sum(x.to(tl.float32), axis=1).to(s_ptr.dtype.element_ty))


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
'''
    )
)
