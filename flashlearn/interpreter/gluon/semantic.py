"""Gluon's own semantic over the observed operations: its checks of layouts and types stay as they are.

Where a result's layout follows from the operands' by rules of the compiler (a reshape, a transpose, a join),
`layout_inference.py` has it.
"""

from __future__ import annotations

import functools
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl
from triton.experimental.gluon.language._layouts import AutoLayout, CoalescedLayout, SliceLayout
from triton.experimental.gluon.language._semantic import GluonSemantic

from flashlearn.interpreter.gluon.layout_inference import (
    is_open,
    reshaped,
    shared_reshaped,
    shared_transposed,
    transposed,
)
from flashlearn.interpreter.gluon.registers import budget


class ObservedGluonSemantic(GluonSemantic):
    """Gluon's semantic, with layouts inferred on the types, and partitions that run."""

    def expand_dims(self, input, axis):
        layout = getattr(input.type, "layout", None)
        self._inferred = layout.parent if isinstance(layout, SliceLayout) else layout
        return super().expand_dims(input, axis)

    def permute(self, input, dims):
        self._inferred = transposed(_layout(input), [int(d) for d in dims])
        return super().permute(input, dims)

    def trans(self, input, dims=()):
        order = list(dims) or list(range(len(input.shape)))[::-1]
        return self.permute(input, order)

    def reshape(self, input, dst_shape, can_reorder):
        self._inferred = reshaped(_layout(input), len(dst_shape))
        return super().reshape(input, dst_shape, can_reorder)

    def join(self, a, b):
        a, b = self.broadcast_impl_value(a, b)
        self._inferred = reshaped(_layout(a), len(a.shape) + 1)
        return super().join(a, b)

    def split(self, a):
        self._inferred = reshaped(_layout(a), len(a.shape) - 1)
        return super().split(a)

    def _wrap_handle_infer_layout(self, handle, scalar_ty, shape):
        shape = [int(ttgl._unwrap_if_constexpr(n)) for n in shape]
        if not shape:
            return self.tensor(handle, scalar_ty)
        return self.tensor(handle, ttgl.distributed_type(scalar_ty, shape, self._inferred))

    def reduced(self, result: tl.tensor, source: tl.tensor, axis: int | None, kept: bool) -> tl.tensor:
        """A reduction's result with its layout: the source's, sliced along `axis`."""
        if axis is None or not result.type.is_block() or not isinstance(source.type, ttgl.distributed_type):
            return result
        layout = source.type.layout
        if not kept and not isinstance(layout, AutoLayout | CoalescedLayout):
            layout = SliceLayout(axis % len(source.shape), layout)
        kind = ttgl.distributed_type(result.type.scalar, [int(n) for n in result.shape], layout)
        return self.tensor(result.handle, kind)

    def broadcast_impl_value(self, lhs, rhs):
        left, right = _layout(lhs), _layout(rhs)
        if left != right and lhs.type.is_block() and rhs.type.is_block():
            if is_open(left):
                lhs = self.tensor(lhs.handle, ttgl.distributed_type(lhs.type.scalar, lhs.type.shape, right))
            elif is_open(right):
                rhs = self.tensor(rhs.handle, ttgl.distributed_type(rhs.type.scalar, rhs.type.shape, left))
        return super().broadcast_impl_value(lhs, rhs)

    def memdesc_trans(self, mem_desc, order):
        layout = shared_transposed(mem_desc.layout, order)
        self.builder.reordered = lambda view: view.permuted(order, layout)
        return super().memdesc_trans(mem_desc, order)

    def memdesc_reshape(self, mem_desc, shape):
        layout = shared_reshaped(mem_desc.layout, len(shape))
        self.builder.reordered = lambda view: view.reshaped(shape, layout)
        return super().memdesc_reshape(mem_desc, shape)

    def to_linear_layout(self, layout, shape):
        return reshaped(layout, len(shape))

    def num_warps(self, generator):
        return self.builder.block.me.warps

    def num_ctas(self):
        return 1

    def warp_specialize(self, functions_and_args, worker_num_warps, worker_num_regs, generator):
        """Fork, run, join. The checks are Gluon's own."""
        for _, args in functions_and_args:
            if not isinstance(args, tuple | ttgl.tuple):
                raise ValueError(f"function arguments must be a tuple of arguments, but got {type(args)}")
        (first, first_args), *workers = functions_and_args
        for what, given in (("warp", worker_num_warps), ("register", worker_num_regs)):
            if given is not None and len(given) != len(workers):
                raise ValueError(
                    f"warp specialize got {len(workers)} partitions but {len(given)} {what} counts"
                )
        block = self.builder.block
        if worker_num_regs is not None:
            fault = budget(block.me.warps, self.builder.most_registers, worker_num_warps, worker_num_regs)
            if fault is not None:
                raise block.fail("registers", block.place(), **fault)
        run = [
            (_name(f), warps, functools.partial(self._run, f, args))
            for (f, args), warps in zip(workers, worker_num_warps, strict=True)
        ]
        return block.specialize(functools.partial(self._run, first, first_args), _name(first), run)

    def _run(self, function: Any, args: Any) -> Any:
        return self.builder.call(function, tuple(args), {})


def _layout(value: Any) -> Any:
    return getattr(value.type, "layout", None)


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or function.fn.__name__
