"""Answers as cells, right and wrong, for the tests of the classroom."""

from __future__ import annotations

IMPORTS = """
import sympy as sp
import torch
import triton
import triton.language as tl
import flashlearn
from flashlearn import DEVICE
"""

KERNEL = """
@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, row_stride, col_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * row_stride + cols * col_stride, mask=cols < n_cols, other=0)
        total += x
    tl.store(out_ptr + row, tl.sum(total))
"""
LAUNCHER = """
def row_sum(x):
    out = torch.empty(x.size(0), dtype=x.dtype)
    row_sum_kernel[(x.size(0),)](x, out, x.size(1), x.stride(0), x.stride(1), BLOCK=32)
    return out
"""
ROW_SUM = KERNEL + LAUNCHER
UNMASKED = ROW_SUM.replace("mask=cols < n_cols", "mask=cols <= n_cols")
FIRST_BLOCK = ROW_SUM.replace("range(0, n_cols, BLOCK)", "range(0, BLOCK, BLOCK)")
BY_TORCH = """
def row_sum(x):
    return torch.sum(x, dim=1)
"""
STUB = """
def row_sum(x):
    raise NotImplementedError("TODO row_sum: allocate the output, launch the kernel")
"""
SOFTMAX_JACOBIAN = """
def softmax_jacobian(s):
    n = len(s)
    return sp.Matrix(n, n, lambda i, j: s[i] * ((1 if i == j else 0) - s[j]))
"""
