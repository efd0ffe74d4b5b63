"""What if half precision lost nothing? The observed operations, with all of fp32's digits in fp16 and bf16.

Types stay what they are, so that a kernel runs the same way; only stores round. Where a value that was wider
loses digits on its way to half precision, the line is noted, as a caution of one of the kinds `ROUNDED`;
where what is computed in half precision has more digits than that, as one of the kind `COMPUTED`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from flashlearn.interpreter.builder import ObservedBuilder
from flashlearn.interpreter.low_precision import BF16, FLOATS, cast, numpy_dtype

HALF = {np.dtype(np.float16): "fp16", BF16: "bf16"}
ROUNDED = {f"rounded to {name}": name for name in HALF.values()}
"""Kinds of cautions, each with the type."""

COMPUTED = "computed in half precision"
"""The kind of the caution for an operation whose own result was rounded."""

FULL = np.dtype(np.float32)


def _held_in_full(half: tl.dtype) -> tl.dtype:
    """A type that equals `half`, by its name, and has room for fp32."""
    wide = copy.copy(half)
    wide.primitive_bitwidth = 32
    return wide


WIDE = {half: _held_in_full(half) for half in (tl.float16, tl.bfloat16)}


class FullPrecisionBuilder(ObservedBuilder):
    """Values of half precision are held in fp32.

    With lines in `only` what is computed in these keeps all digits, and everything else is rounded as ever.
    """

    holds_wide = True
    only: frozenset[int] | None = None

    def _load(self, ptrs, mask, other):
        return _widened(super()._load(ptrs, mask, other))

    def create_store(self, ptr, value, *rest, **options):
        return super().create_store(ptr, _narrowed(value), *rest, **options)

    def create_masked_store(self, ptrs, value, mask, *rest, **options):
        return super().create_masked_store(ptrs, _narrowed(value), mask, *rest, **options)

    def create_atomic_rmw(self, operation, ptr, value, *rest):
        return _widened(super().create_atomic_rmw(operation, ptr, _narrowed(value), *rest))

    def create_atomic_cas(self, ptr, compare, value, *rest):
        return _widened(super().create_atomic_cas(ptr, _narrowed(compare), _narrowed(value), *rest))

    def binary_op(self, lhs, rhs, op):
        if not _half(lhs):
            return super().binary_op(lhs, _widened(rhs), op)
        out = op(_widened(lhs).data, _widened(rhs).data)
        if out.dtype in FLOATS:
            self.operations["elementwise"] += out.size
        return self.held(out, lhs.dtype.scalar)

    def unary_op(self, arg, op):
        return self.settled(super().unary_op(_widened(arg), op))

    def create_dot(self, a, b, d, *rest):
        return self.settled(super().create_dot(_widened(a), _widened(b), _widened(d), *rest))

    def cast_impl(self, src, dst_type):
        return self._cast(src, dst_type)

    def create_fp_to_fp(self, src, dst_type, rounding_mode):
        if _is_half(numpy_dtype(dst_type)):
            return self._cast(src, dst_type)
        return super().create_fp_to_fp(_narrowed(src), dst_type, rounding_mode)

    def create_bitcast(self, src, dst_type):
        return super().create_bitcast(_narrowed(src), dst_type)

    def _cast(self, src, dst_type):
        to = numpy_dtype(dst_type)
        if not _is_half(to) or src.data.dtype not in FLOATS:
            return _widened(super().cast_impl(src, dst_type))
        if not np.array_equal(cast(src.data, to).astype(FULL), src.data, equal_nan=True):
            self.memory.cautions.add(f"rounded to {HALF[to]}", "", self.memory.place())
        return self.held(src.data.astype(FULL), dst_type.scalar)

    def held(self, data: np.ndarray, dtype: tl.dtype) -> TensorHandle:
        """Results in fp32 that have a type of half precision."""
        return self.settled(TensorHandle(data, WIDE[dtype]))

    def settled(self, handle: TensorHandle) -> TensorHandle:
        """A result with the digits that its line may keep; the line is noted if it would have lost some."""
        if not _half(handle) or _is_half(handle.data.dtype):
            return handle
        rounded = cast(handle.data, numpy_dtype(handle.dtype.scalar)).astype(FULL)
        if np.array_equal(rounded, handle.data, equal_nan=True):
            return handle
        place = self.memory.place()
        self.memory.cautions.add(COMPUTED, "", place)
        if self.only is not None and (place is None or place.line not in self.only):
            handle.data = rounded
        return handle


def full_precision(lines: Sequence[int] | None) -> type[FullPrecisionBuilder]:
    """A builder whose values of half precision keep all digits: everywhere, or in these lines."""
    return type(
        "FullPrecisionIn", (FullPrecisionBuilder,), {"only": None if lines is None else frozenset(lines)}
    )


def _is_half(dtype: np.dtype) -> bool:
    return dtype in HALF


def _half(handle) -> bool:
    """True for a handle whose type is half precision, whatever its data are held in."""
    scalar = handle.dtype.scalar
    return not scalar.is_ptr() and _is_half(numpy_dtype(scalar))


def _widened(handle):
    if not _is_half(handle.data.dtype):
        return handle
    return TensorHandle(handle.data.astype(FULL), WIDE[handle.dtype.scalar], dict(handle.attr))


def _narrowed(handle):
    """The handle with data of its type."""
    if not _half(handle) or _is_half(handle.data.dtype):
        return handle
    return TensorHandle(cast(handle.data, numpy_dtype(handle.dtype.scalar)), handle.dtype, dict(handle.attr))
