"""NumPy dtypes for every triton type, so that bf16 and fp8 arithmetic is right.

The stock interpreter keeps bf16 as bare 16-bit patterns and computes on them as integers; here they
are `ml_dtypes` numbers, and every NumPy operation rounds as the hardware does (to nearest, ties to
even). Casts to fp8 saturate, as NVIDIA's `cvt.rn.satfinite` does (PTX ISA, "cvt").
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import torch
import triton.language as tl

BF16 = np.dtype(ml_dtypes.bfloat16)

NUMPY = {
    tl.int1: np.dtype(bool),
    tl.int8: np.dtype(np.int8),
    tl.uint8: np.dtype(np.uint8),
    tl.int16: np.dtype(np.int16),
    tl.uint16: np.dtype(np.uint16),
    tl.int32: np.dtype(np.int32),
    tl.uint32: np.dtype(np.uint32),
    tl.int64: np.dtype(np.int64),
    tl.uint64: np.dtype(np.uint64),
    tl.float16: np.dtype(np.float16),
    tl.bfloat16: BF16,
    tl.float32: np.dtype(np.float32),
    tl.float64: np.dtype(np.float64),
    tl.float8e5: np.dtype(ml_dtypes.float8_e5m2),
    tl.float8e5b16: np.dtype(ml_dtypes.float8_e5m2fnuz),
    tl.float8e4nv: np.dtype(ml_dtypes.float8_e4m3fn),
    tl.float8e4b8: np.dtype(ml_dtypes.float8_e4m3fnuz),
    tl.float8e4b15: np.dtype(np.uint8),  # a software format of old GPUs; NumPy has no such type
}

EIGHT_BIT = frozenset(NUMPY[t] for t in (tl.float8e5, tl.float8e5b16, tl.float8e4nv, tl.float8e4b8))
FLOATS = frozenset({np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64), BF16}) | EIGHT_BIT
NARROW = EIGHT_BIT | {BF16}

TRITON_NAME = {
    torch.bool: "i1",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
}


def numpy_dtype(triton_type) -> np.dtype:
    """The NumPy dtype that stores `triton_type`; pointers are 64-bit addresses."""
    if isinstance(triton_type, tl.block_type):
        triton_type = triton_type.element_ty
    if isinstance(triton_type, tl.pointer_type):
        return np.dtype(np.uint64)
    return NUMPY[triton_type]


def cast(data: np.ndarray, to: np.dtype, toward_zero: bool = False) -> np.ndarray:
    """`data` as dtype `to`, rounded to nearest even, or toward zero (bf16 only)."""
    if to in EIGHT_BIT:
        limit = float(ml_dtypes.finfo(to).max)
        wide = data.astype(np.float32)
        return np.clip(wide, -limit, limit).astype(to)  # NaN stays NaN
    if to == BF16 and toward_zero:
        bits = data.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
        return bits.view(np.float32).astype(BF16)
    if data.dtype in NARROW and to.kind in "iu":
        data = data.astype(np.float32)
    return data.astype(to)
