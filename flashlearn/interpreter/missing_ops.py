"""Operations of triton's language that its own interpreter lacks: `map_elementwise`, `dot_scaled`.

    >>> functions = substitutes(builder, call)              # {"map_elementwise": …, "dot_scaled": …}

A block-scaled product follows the OCP Microscaling Formats: 32 neighbours along K share one power of two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from flashlearn.interpreter.builder import ObservedBuilder
from flashlearn.interpreter.low_precision import cast, numpy_dtype

SHARED = 32
"""Neighbours along K that share one scale."""
FORMATS = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
"""The sizes of the numbers of format e2m1, by their three lower bits; the fourth is the sign."""


def substitutes(builder: ObservedBuilder, call: Callable) -> dict[str, Callable]:
    """Members of triton.language by name, to be put in place while a launch runs on `builder`.

    `call(function, args, kwargs)` calls a jitted function.
    """

    def map_elementwise(scalar_fn: Any, *args: Any, pack: int = 1, **_options: Any) -> Any:
        return _mapped(scalar_fn, args, int(_plain(pack)), call)

    def dot_scaled(
        lhs: tl.tensor,
        lhs_scale: tl.tensor | None,
        lhs_format: str,
        rhs: tl.tensor,
        rhs_scale: tl.tensor | None,
        rhs_format: str,
        acc: tl.tensor | None = None,
        fast_math: bool = False,
        lhs_k_pack: bool = True,
        rhs_k_pack: bool = True,
        out_dtype: tl.dtype = tl.float32,
        **_options: Any,
    ) -> tl.tensor:
        left = _unscaled(lhs, lhs_scale, _plain(lhs_format), _plain(lhs_k_pack))
        right = _unscaled(tl.trans(rhs), rhs_scale, _plain(rhs_format), _plain(rhs_k_pack))
        builder.operations["dot"] += 2 * left.shape[0] * right.shape[0] * left.shape[1]
        product = left @ right.T
        if acc is not None:
            product = product + acc.handle.data
        kind = _plain(out_dtype)
        return tl.tensor(
            TensorHandle(cast(product, numpy_dtype(kind)), kind), tl.block_type(kind, list(product.shape))
        )

    return {"map_elementwise": map_elementwise, "dot_scaled": dot_scaled}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, tl.constexpr) else value


def _mapped(function: Any, args: tuple, pack: int, call: Callable) -> Any:
    """The scalar function on `pack` elements of every tile at a time: a0, a1, b0, b1 for two of two."""
    tiles = [interpreter.interpreter_semantic.to_tensor(value) for value in args]
    arrays = np.broadcast_arrays(*(tile.handle.data for tile in tiles))
    shape, flat = arrays[0].shape, [array.ravel() for array in arrays]
    single, results = True, []
    for first in range(0, flat[0].size, pack):
        scalars = [
            _scalar(array[first + lane], tile.type.scalar)
            for array, tile in zip(flat, tiles, strict=True)
            for lane in range(pack)
        ]
        out = call(function, tuple(scalars), {})
        single = isinstance(out, tl.tensor)
        results.append([out] if single else list(out))
    tiled = []
    for number in range(0, len(results[0]), pack):
        values = [np.ravel(row[number + lane].handle.data)[0] for row in results for lane in range(pack)]
        kind = results[0][number].type.scalar
        handle = TensorHandle(np.array(values, dtype=numpy_dtype(kind)).reshape(shape), kind)
        tiled.append(tl.tensor(handle, tl.block_type(kind, list(shape))))
    return tiled[0] if single else tl.tuple(tiled)


def _scalar(value: Any, kind: tl.dtype) -> tl.tensor:
    return tl.tensor(TensorHandle(np.array([value], dtype=numpy_dtype(kind)), kind), kind)


def _unscaled(tile: tl.tensor, scale: tl.tensor | None, form: str, along_k: bool) -> np.ndarray:
    """The numbers [rows, K] that an operand represents."""
    data = tile.handle.data
    if form == "e2m1":
        data = _unpacked(data if along_k else data.T)
        data = data if along_k else data.T
    elif form in FORMATS and data.dtype.itemsize == 1:
        data = np.ascontiguousarray(data).view(FORMATS[form])
    wide = data.astype(np.float32)
    if scale is None:
        return wide
    exponents = np.repeat(scale.handle.data.astype(np.float32), SHARED, axis=1)[:, : wide.shape[1]]
    return wide * np.where(exponents == 255, np.float32(np.nan), np.exp2(exponents - 127))


def _unpacked(data: np.ndarray) -> np.ndarray:
    """Two numbers of four bits in each byte, the lower half first, along the last axis."""
    halves = np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], -1)
    return np.where(halves & 8, -1.0, 1.0).astype(np.float32) * FP4[halves & 7]
