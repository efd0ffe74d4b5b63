"""Answers to lesson 00, written without a look at what the grader knows: the sixteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "program_ids",
    "the program is taken for a CUDA thread – in the store line program i writes only element i "
    "(value i // BLOCK) instead of its block of BLOCK elements, so most slots stay unwritten",
    "never written",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    # ids_ptr: address of ids[0]; n: how many elements ids has; BLOCK: lanes of one program
    i = tl.program_id(0)
    tl.store(ids_ptr + i, i // BLOCK, mask=i < n)


def program_ids(x: Tensor, block: int) -> Tensor:
    """ids[i] = i // block, the program that owns element i: x [n] of any dtype → ids [n], int32."""
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
''',
        title="one thread",
    )
)

wrong(
    "row_sum",
    "the loop `range(0, columns, 16)` advances by 16 while each turn loads BLOCK lanes, so every "
    "row longer than 16 counts elements several times",
    "one edit",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    row_ptr = x_ptr + row * stride_row
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, 16):
        cols = start + tl.arange(0, BLOCK)
        vals = tl.load(row_ptr + cols * stride_column, mask=cols < columns, other=0.0)
        acc += vals.to(tl.float32)
    tl.store(s_ptr + row, tl.sum(acc, axis=0))


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
''',
        title="overlapping steps",
    )
)

wrong(
    "scaled_add",
    "as in BLAS, y is overwritten – the launcher passes y (and y.stride(0)) as the output and "
    "returns it, instead of allocating a new z",
    "changed input",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    # y <- a x + y
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = offs < n
    x = tl.load(x_ptr + offs * stride_x, mask=ok).to(tl.float32)
    y = tl.load(y_ptr + offs * stride_y, mask=ok).to(tl.float32)
    tl.store(y_ptr + offs * stride_y, a * x + y, mask=ok)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    """z = a·x + y: two vectors [n] of any strides → [n] contiguous, in the dtype of x."""
    n = x.numel()
    grid = (triton.cdiv(n, 512),)
    scaled_add_kernel[grid](a, x, y, n, x.stride(0), y.stride(0), BLOCK=512)
    return y
''',
        title="blas in place",
    )
)
