"""The three kernels of lesson 00: a number per program, a sum per row, and z = a·x + y.

    >>> program_ids(torch.empty(5), 2)                             # [0, 0, 1, 1, 2], int32
    >>> row_sum(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))            # [3., 7.]
    >>> scaled_add(2.0, torch.tensor([1.0, 2.0]), torch.ones(2))   # [3., 5.]

Inputs may be strided views; results are contiguous. The lines between BEGIN and END SOLUTION are the
lesson's exercises.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["program_ids", "row_sum", "scaled_add"]


@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    # ids_ptr: address of ids[0]; n: how many elements ids has; BLOCK: lanes of one program
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO program_ids: number, offsets, mask, one store")
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK] the elements this program owns
    tl.store(ids_ptr + offsets, pid, mask=offsets < n)  # writes n elements in all
    ### END SOLUTION


def program_ids(x: Tensor, block: int) -> Tensor:
    """ids[i] = i // block, the program that owns element i: x [n] of any dtype → ids [n], int32."""
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    # x[i, j] lies at x_ptr + i * stride_row + j * stride_column, counted in elements
    # BLOCK is a power of two and at least `columns`
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO row_sum: load row i under a mask, sum in fp32, store one number")
    i = tl.program_id(0).to(tl.int64)  # the row; i * stride_row may pass 2³¹, so 64 bits
    j = tl.arange(0, BLOCK)  # [BLOCK] columns; those from `columns` on are padding
    in_row = j < columns
    # padding is 0, which adds nothing to a sum
    x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=in_row, other=0.0)
    s = tl.sum(x.to(tl.float32), axis=0)  # one number; fp16 would round every addition
    tl.store(s_ptr + i, s)
    ### END SOLUTION


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    # x[i] lies at x_ptr + i * stride_x, y[i] at y_ptr + i * stride_y, z is contiguous
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO scaled_add: offsets, mask, two loads, a * x + y, one store")
    pid = tl.program_id(0).to(tl.int64)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK]
    in_vector = offsets < n
    # no other=: what padded lanes hold is computed with, but never stored
    x = tl.load(x_ptr + offsets * stride_x, mask=in_vector).to(tl.float32)
    y = tl.load(y_ptr + offsets * stride_y, mask=in_vector).to(tl.float32)
    tl.store(z_ptr + offsets, a * x + y, mask=in_vector)  # reads 2n, writes n elements in all
    ### END SOLUTION


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    """z = a·x + y: two vectors [n] of any strides → [n] contiguous, in the dtype of x."""
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO scaled_add: allocate z, choose BLOCK and grid, launch, return z")
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    scaled_add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
    ### END SOLUTION
