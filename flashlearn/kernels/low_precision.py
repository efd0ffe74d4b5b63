"""What prepares tensors for eight bits: one scale per block, and a rotation that spreads outliers.

    >>> x = torch.randn(300, 64)
    >>> values, scales = quantize_blocks(x, 128, 64)         # e4m3 [300, 64], fp32 [3, 1]
    >>> rotated = hadamard_rotate(x, torch.ones(64))         # every row with its length unchanged

A block's scale is its largest magnitude over 448, e4m3's largest number (Micikevicius et al., "FP8 formats
for deep learning", 2022, table 1). Scales per block and rotations of Q and K before they are rounded are
FlashAttention-3's (Shah et al., 2024, section 3.3); random signs with a Hadamard matrix to make weights
incoherent are QuIP's successors' (Chee et al., 2023; Tseng et al., 2024). Lines between BEGIN and END
SOLUTION are lesson 14's exercises.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["hadamard_rotate", "quantize_blocks"]


@triton.jit
def quantize_blocks_kernel(
    x_ptr, values_ptr, scales_ptr, M, N, x_row, x_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):  # fmt: skip
    # program (i, j) owns block (i, j); values and scales are contiguous
    i, j = tl.program_id(0), tl.program_id(1)
    rows = (i * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    columns = (j * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO quantize_blocks: the block's scale, and its values in e4m3")
    x_at = x_ptr + rows[:, None] * x_row + columns[None, :] * x_col
    x = tl.load(x_at, mask=inside, other=0.0).to(tl.float32)  # zeros leave the largest magnitude alone
    largest = tl.max(tl.abs(x))
    scale = tl.where(largest == 0.0, 1.0, largest / 448.0)  # a block of zeros: 0 / 1, not 0 / 0
    # the largest may come out a rounding error above 448
    values = tl.clamp(x / scale, -448.0, 448.0).to(tl.float8e4nv)
    tl.store(values_ptr + rows[:, None] * N + columns[None, :], values, mask=inside)
    tl.store(scales_ptr + i * tl.num_programs(1) + j, scale)
    ### END SOLUTION


def quantize_blocks(x: Tensor, block_m: int, block_n: int) -> tuple[Tensor, Tensor]:
    """e4m3 values [M, N] and fp32 scales [⌈M/block_m⌉, ⌈N/block_n⌉] with x ≈ values · scale, block by block.

    x [M, N] in fp32, fp16 or bf16 with any strides; both sides of a block are powers of two. A block of
    zeros has the scale 1.
    """
    M, N = x.shape
    grid = (triton.cdiv(M, block_m), triton.cdiv(N, block_n))
    values = torch.empty((M, N), dtype=torch.float8_e4m3fn, device=x.device)
    scales = torch.empty(grid, dtype=torch.float32, device=x.device)
    quantize_blocks_kernel[grid](x, values, scales, M, N, *x.stride(), BLOCK_M=block_m, BLOCK_N=block_n)
    return values, scales


@triton.jit
def hadamard_rotate_kernel(
    x_ptr, signs_ptr, y_ptr, root, M, x_row, x_col, BLOCK_M: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    # a program owns BLOCK_M rows; root is 1/√D, y is contiguous
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    d = tl.arange(0, D)
    in_rows = (rows < M)[:, None]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO hadamard_rotate: signs, the matrix from parities, one product")
    x = tl.load(x_ptr + rows[:, None] * x_row + d[None, :] * x_col, mask=in_rows, other=0.0)
    x = x * tl.load(signs_ptr + d).to(x.dtype)[None, :]  # a sign rounds nothing
    common = d[:, None] & d[None, :]  # entry (i, j) is −1 where i and j share an odd number of bits
    common = common ^ (common >> 4)
    common = common ^ (common >> 2)
    common = common ^ (common >> 1)
    h = (1 - 2 * (common & 1)).to(x.dtype)  # 1 and −1, exact in every dtype: 1/√D comes after the sum
    y = tl.dot(x, h, input_precision="ieee") * root
    tl.store(y_ptr + rows[:, None] * D + d[None, :], y.to(y_ptr.dtype.element_ty), mask=in_rows)
    ### END SOLUTION


def hadamard_rotate(x: Tensor, signs: Tensor) -> Tensor:
    """(x ∘ signs) H/√D in x's dtype: x [M, D] with any strides, signs [D] of 1 and −1 in fp32.

    H is Sylvester's Hadamard matrix, H_ij = (−1)^(number of bits that i and j share). Raises ValueError
    where D is no power of two from 16 to 256.
    """
    M, D = x.shape
    if D not in (16, 32, 64, 128, 256):
        raise ValueError(f"x has rows of {D} numbers, expected a power of two from 16 to 256")
    y = torch.empty((M, D), dtype=x.dtype, device=x.device)
    block = 32
    hadamard_rotate_kernel[(triton.cdiv(M, block),)](x, signs, y, D**-0.5, M, *x.stride(), BLOCK_M=block, D=D)
    return y
