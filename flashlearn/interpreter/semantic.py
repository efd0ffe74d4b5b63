"""Triton's semantic for observed kernels: what it asserts of descriptors without a word, in words."""

from __future__ import annotations

import triton.language as tl
from triton.language.semantic import TritonSemantic

from flashlearn.interpreter.descriptors import misfit, row
from flashlearn.interpreter.errors import KernelCrash

UNPROMOTED = (tl.float32, tl.int32, tl.int64)
"""Of two operands of one of these types an operation is in this type, whichever it is."""


class ObservedSemantic(TritonSemantic):
    """Triton's semantic, which says in words what a descriptor and a tile must have in common."""

    def binary_op_type_checking_impl(self, lhs, rhs, *options, **named):
        """The same as Triton's; most operands are of one type, which nothing promotes."""
        if isinstance(lhs, tl.tensor) and isinstance(rhs, tl.tensor):
            kind = lhs.type.scalar
            if kind is rhs.type.scalar and any(kind is one for one in UNPROMOTED):
                return self.broadcast_impl_value(lhs, rhs)
        return super().binary_op_type_checking_impl(lhs, rhs, *options, **named)

    def broadcast_impl_value(self, lhs, rhs):
        """The same as Triton's; most operands need nothing, or a block of as many axes."""
        left, right = lhs.type, rhs.type
        if not (left.is_block() and right.is_block()):
            return (
                super().broadcast_impl_value(lhs, rhs) if left.is_block() or right.is_block() else (lhs, rhs)
            )
        have, want = left.shape.values, right.shape.values
        if have == want:
            return lhs, rhs
        sizes = [max(m, n) for m, n in zip(have, want, strict=False)]
        fits = [m in (1, n) or n == 1 for m, n in zip(have, want, strict=False)]
        if len(have) != len(want) or not all(fits):
            return super().broadcast_impl_value(lhs, rhs)
        return self._broadcast(lhs, sizes), self._broadcast(rhs, sizes)

    def _broadcast(self, value, sizes):
        if value.type.shape.values == sizes:
            return value
        kind = tl.block_type(value.type.scalar, sizes)
        return self.tensor(self.builder.create_broadcast(value.handle, sizes), kind)

    def make_tensor_descriptor(self, base, shape, strides, block_shape, *rest, **options):
        sizes = [tl.core._unwrap_if_constexpr(n) for n in block_shape]
        last = tl.core._unwrap_if_constexpr(strides[-1]) if len(strides) else 1
        last = int(last.handle.data.item()) if isinstance(last, tl.tensor) else last
        counts = len(shape), len(strides), len(sizes)
        bytes_each = base.dtype.element_ty.primitive_bitwidth // 8
        # what triton's own code would stop at, without saying why
        stand_ins = [16] * (counts[1] - 1) + [last]
        if sentence := misfit(0, bytes_each, [1] * counts[0], stand_ins, sizes):
            raise KernelCrash(sentence, self.builder.memory.place())
        return super().make_tensor_descriptor(base, shape, strides, block_shape, *rest, **options)

    def descriptor_load(self, desc, offsets, *rest):
        self._fits_offsets(desc, offsets)
        return super().descriptor_load(desc, offsets, *rest)

    def validate_store_like(self, desc, value, offsets):
        self._fits_offsets(desc, offsets)
        block = [int(n) for n in desc.block_shape]
        tile = [int(tl.core._unwrap_if_constexpr(n)) for n in getattr(value, "shape", ())]
        if tile != block:
            raise KernelCrash(
                f"The tile has shape {row(tile)}, and the descriptor's block {row(block)}: what is stored "
                f"has the block's shape, ones included: `tile.reshape({', '.join(map(str, block))})`.",
                self.builder.memory.place(),
            )

    def descriptor_atomic_add(self, desc, value, offsets):
        self._fits_dtype(desc, value)
        return super().descriptor_atomic_add(desc, value, offsets)

    def descriptor_atomic_min(self, desc, value, offsets):
        self._fits_dtype(desc, value)
        return super().descriptor_atomic_min(desc, value, offsets)

    def descriptor_atomic_max(self, desc, value, offsets):
        self._fits_dtype(desc, value)
        return super().descriptor_atomic_max(desc, value, offsets)

    def _has_native_tma(self) -> bool:
        return True  # as on the GPU that a launch is bound for

    def _fits_offsets(self, desc, offsets) -> None:
        rank = len(desc.block_shape)
        if len(offsets) != rank:
            raise KernelCrash(
                f"The descriptor has {rank} dimensions, and here are {len(offsets)} offsets: one for each.",
                self.builder.memory.place(),
            )

    def _fits_dtype(self, desc, value) -> None:
        if value.dtype != desc.dtype:
            raise KernelCrash(
                f"The tile is {value.dtype}, and the descriptor's tensor {desc.dtype}. A store converts by "
                f"itself, an atomic does not: `tile.to(tl.{desc.dtype.codegen_name()})`.",
                self.builder.memory.place(),
            )
