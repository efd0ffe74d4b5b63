"""Gluon's own semantic over the observed operations: its checks of layouts and types stay as they are.

Where a result's layout follows from the operands' by rules that the compiler knows (a reshape, a transpose, a
join), the compiler's own builder is asked: it makes the one operation on a value of that type, in a module
that nothing else is done with, and says what came out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import triton.language as tl
from triton._C.libtriton import gluon_ir, ir
from triton.experimental.gluon.language import _core as ttgl
from triton.experimental.gluon.language._layouts import AutoLayout, CoalescedLayout, SliceLayout
from triton.experimental.gluon.language._semantic import GluonSemantic

from flashlearn.interpreter.gluon.registers import budget
from flashlearn.interpreter.specialised import backend


class ObservedGluonSemantic(GluonSemantic):
    """Gluon's semantic, with layouts inferred on the types, and partitions that run."""

    def expand_dims(self, input, axis):
        layout = getattr(input.type, "layout", None)
        self._inferred = layout.parent if isinstance(layout, SliceLayout) else layout
        return super().expand_dims(input, axis)

    def permute(self, input, dims):
        self._inferred = _infer(input.type, "create_trans", tuple(int(d) for d in dims))
        return super().permute(input, dims)

    def trans(self, input, dims=()):
        order = list(dims) or list(range(len(input.shape)))[::-1]
        return self.permute(input, order)

    def reshape(self, input, dst_shape, can_reorder):
        shape = tuple(int(ttgl._unwrap_if_constexpr(n)) for n in dst_shape)
        self._inferred = _infer(input.type, "create_reshape", shape)
        return super().reshape(input, dst_shape, can_reorder)

    def join(self, a, b):
        a, b = self.broadcast_impl_value(a, b)
        self._inferred = _infer(a.type, "create_join", ())
        return super().join(a, b)

    def split(self, a):
        self._inferred = _infer(a.type, "create_split", ())
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

    def memdesc_trans(self, mem_desc, order):
        self.builder.reordered = lambda view: view.permuted(
            order, _infer(mem_desc.type, "create_memdesc_trans", tuple(order))
        )
        return super().memdesc_trans(mem_desc, order)

    def memdesc_reshape(self, mem_desc, shape):
        self.builder.reordered = lambda view: view.reshaped(
            shape, _infer(mem_desc.type, "create_memdesc_reshape", tuple(shape))
        )
        return super().memdesc_reshape(mem_desc, shape)

    def to_linear_layout(self, layout, shape):
        made = _real()
        return made.to_linear_layout(layout._to_ir(made), list(shape))

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
        return block.specialise(functools.partial(self._run, first, first_args), _name(first), run)

    def _run(self, function: Any, args: Any) -> Any:
        return self.builder.call(function, tuple(args), {})


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or function.fn.__name__


@functools.cache
def _module() -> tuple[Any, Any, Any]:
    context = ir.context()
    ir.load_dialects(context)
    backend().load_dialects(context)
    builder = gluon_ir.GluonOpBuilder(context)
    module = builder.create_module()
    for name, number in (("ttg.num-warps", 4), ("ttg.num-ctas", 1), ("ttg.threads-per-warp", 32)):
        module.set_attr(name, builder.get_int32_attr(number))
    module.set_attr("ttg.target", builder.get_string_attr("cuda:90"))
    return context, builder, module


def _real() -> Any:
    return _module()[1]


def _infer(kind: Any, operation: str, arguments: tuple[int, ...]) -> Any:
    """The layout of what the compiler's own operation makes of a value of this type."""
    if isinstance(getattr(kind, "layout", None), AutoLayout | CoalescedLayout):
        return kind.layout
    return _inferred(_Key(kind), operation, arguments)


class _Key:
    """A type by what tells it apart: triton's own do not hash by their layout."""

    def __init__(self, kind: Any):
        self.kind = kind
        self.said = (type(kind).__name__, str(kind.element_ty), tuple(kind.shape), kind.layout.mangle())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.said == other.said

    def __hash__(self) -> int:
        return hash(self.said)


_count = iter(range(1 << 60))


@functools.lru_cache(maxsize=4096)
def _inferred(key: _Key, operation: str, arguments: tuple[int, ...]) -> Any:
    _, builder, module = _module()
    if "memdesc" in operation and hasattr(key.kind, "alloc_shape"):
        made = builder.get_shared_mem_desc_ty(
            _element(builder, key.kind.element_ty), list(key.kind.shape), key.kind.layout._to_ir(builder),
            list(key.kind.alloc_shape),
        )  # fmt: skip
    else:
        made = builder.get_distributed_ty(
            _element(builder, key.kind.element_ty), list(key.kind.shape), key.kind.layout._to_ir(builder)
        )
    function = builder.get_or_insert_function(
        module, f"infer{next(_count)}", builder.get_function_ty([made], []), "private", False
    )
    module.push_back(function)
    builder.set_insertion_point_to_start(function.add_entry_block())
    value = function.args(0)
    calls: dict[str, Callable] = {
        "create_trans": lambda: builder.create_trans(value, list(arguments)),
        "create_reshape": lambda: builder.create_reshape(value, list(arguments), False),
        "create_join": lambda: builder.create_join(value, value),
        "create_split": lambda: builder.create_split(value)[0],
        "create_memdesc_trans": lambda: builder.create_memdesc_trans(value, list(arguments)),
        "create_memdesc_reshape": lambda: builder.create_memdesc_reshape(value, list(arguments)),
    }
    result = calls[operation]()
    if "memdesc" in operation:
        return builder.get_gluon_layout_from_memdesc(result)
    return builder.get_gluon_layout_from_tensor(result)


def _element(builder: Any, element: tl.dtype) -> Any:
    return builder.get_int32_ty() if element.is_ptr() else element.to_ir(builder)
