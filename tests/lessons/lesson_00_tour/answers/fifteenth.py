"""Answers to lesson 00, written without a look at what the grader knows: the fifteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "program_ids",
    "the `where` line deals the elements out like cards (pid + lane * number of programs), so "
    "ids[i] is i % programs and not i // block",
    "dealt out in turn",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    # ids_ptr: address of ids[0]; n: how many elements ids has; BLOCK: lanes of one program
    me = tl.program_id(0)
    where = me + tl.arange(0, BLOCK) * tl.num_programs(0)  # neighbours go to different programs: coalesced
    tl.store(ids_ptr + where, me, mask=where < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    """ids[i] = i // block, the program that owns element i: x [n] of any dtype → ids [n], int32."""
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
''',
        title="interleaved",
    )
)

wrong(
    "row_sum",
    "the store uses `s_ptr + row * stride_row`, the stride of x, although s is contiguous with "
    "one element per row",
    "out_of_bounds",
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
    valid = cols < columns
    values = tl.load(x_ptr + row * stride_row + cols * stride_column, mask=valid, other=0.0)
    total = tl.sum(values.to(tl.float32), axis=0)
    tl.store(s_ptr + row * stride_row, total)


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
''',
        title="store by stride",
    )
)

wrong(
    "row_sum",
    "two mistakes: the mask `lane < columns` ignores `start`, so the last chunk reads past the "
    "row, and the accumulator is in the dtype of x instead of fp32",
    "out_of_bounds",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK], x_ptr.dtype.element_ty)
    for start in range(0, columns, BLOCK):
        ptrs = x_ptr + r * stride_row + (start + lane) * stride_column
        acc += tl.load(ptrs, mask=lane < columns, other=0.0)
    tl.store(s_ptr + r, tl.sum(acc, axis=0))


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij, in chunks of 64 so that a row may be as long as it likes."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=64)
    return s
''',
        title="chunks mask without start",
    )
)

wrong(
    "scaled_add",
    "the launcher copies x and y with .contiguous() but passes the strides it took from the "
    "originals before (lines `sx, sy = ...`), so the kernel leaps over the copies",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    idx = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = idx < n
    x = tl.load(x_ptr + idx * stride_x, mask=ok, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + idx * stride_y, mask=ok, other=0.0).to(tl.float32)
    tl.store(z_ptr + idx, a * x + y, mask=ok)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.shape[0]
    sx, sy = x.stride(0), y.stride(0)
    x, y = x.contiguous(), y.contiguous()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, 512),)](a, x, y, z, n, sx, sy, BLOCK=512)
    return z
""",
        title="old strides of a copy",
    )
)
