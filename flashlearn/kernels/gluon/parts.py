"""What the Hopper kernels share: register layouts of WGMMA, descriptors of tiles for the copy engine.

    >>> rows_of_heads(torch.empty(2, 4, 100, 64, dtype=torch.bfloat16), 64).block_shape
    [1, 1, 64, 64]

A TMA descriptor tells the copy engine where a tensor lies, how large it is and which block it copies at a
time: what of a block lies outside reads as zero and is not stored. Sources: PTX ISA, sections "Asynchronous
warpgroup level matrix instructions" and "cp.async.bulk.tensor"; Triton's Gluon tutorials for how they are
spelled here.
"""

from __future__ import annotations

import torch
from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

__all__ = [
    "ELEMENTS",
    "accumulator",
    "complying_rows",
    "numbers",
    "operand_a",
    "refuse_product",
    "refuse_unknown",
    "rows_of_heads",
    "tiles_of",
]

ELEMENTS = {torch.float16: gl.float16, torch.bfloat16: gl.bfloat16, torch.float32: gl.float32}


@gluon.constexpr_function
def accumulator(columns: int, warps: int = 4) -> gl.NVMMADistributedLayout:
    """Where WGMMA leaves a 16-bit product: each warp 16 rows of 64, all columns in one instruction."""
    return gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[warps, 1], instr_shape=[16, columns, 16])


@gluon.constexpr_function
def operand_a(product: gl.NVMMADistributedLayout) -> gl.DotOperandLayout:
    """Where WGMMA expects a 16-bit left operand that stays in registers."""
    return gl.DotOperandLayout(operand_index=0, parent=product, k_width=2)


def tiles_of(t: Tensor, block: list[int]) -> TensorDescriptor:
    """t in blocks, in the swizzled order that WGMMA reads; its rows begin at multiples of 16 bytes."""
    return TensorDescriptor(
        t,
        list(t.shape),
        list(t.stride()),
        block,
        gl.NVMMASharedLayout.get_default_for(block, ELEMENTS[t.dtype]),
    )


def rows_of_heads(t: Tensor, rows: int, columns: int | None = None) -> TensorDescriptor:
    """Blocks of `rows` rows (all columns unless said) of one head of t [B, H, S, D], which complies.

    See `described.complying` for what that asks.
    """
    D = t.shape[3]
    strides = [stride if size > 1 else D for size, stride in zip(t.shape, t.stride(), strict=True)]
    strides[3] = 1
    block = [1, 1, rows, columns or D]
    layout = gl.NVMMASharedLayout.get_default_for(block, ELEMENTS[t.dtype])
    return TensorDescriptor(t, list(t.shape), strides, block, layout)


def complying_rows(t: Tensor) -> Tensor:
    """t [M, N] itself if the copy engine can take it, else a copy with rows at multiples of 16 bytes.

    Every row has its padding, the last one too: on an H200 a copy out of one fp32 number wrote 16 bytes.
    """
    per_row = 16 // t.element_size()
    if t.stride(1) == 1 and t.stride(0) > 0 and t.stride(0) % per_row == 0 and t.data_ptr() % 16 == 0:
        return t
    rows, columns = t.shape
    padded = torch.empty((rows, -(-columns // per_row) * per_row), dtype=t.dtype, device=t.device)
    return padded[:, :columns].copy_(t)


def refuse_product(a: Tensor, b: Tensor) -> None:
    """Raise TypeError or ValueError, in a sentence, for matrices that these kernels do not multiply."""
    if a.dtype != b.dtype or a.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(f"a is {a.dtype} and b is {b.dtype}, expected both in float16 or both in bfloat16")
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(f"a is {tuple(a.shape)} and b is {tuple(b.shape)}, expected [M, K] and [K, N]")


def refuse_unknown(q: Tensor) -> None:
    """Raise TypeError or ValueError for what these kernels are not written for."""
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise TypeError(
            f"q is {q.dtype}, expected float16 or bfloat16: WGMMA takes these from shared memory as they lie"
        )
    if q.shape[3] not in (64, 128):
        raise ValueError(f"q has rows of {q.shape[3]}, expected 64 or 128")


def numbers(t: Tensor, block: int) -> TensorDescriptor:
    """Blocks of consecutive elements of t, in the order in which they lie."""
    layout = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1)
    return TensorDescriptor(t, [t.numel()], [1], [block], layout)
