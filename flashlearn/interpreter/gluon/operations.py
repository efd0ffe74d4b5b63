"""What a `GluonOpBuilder` offers, in NumPy: the observed builder's operations, and those of shared memory.

A tensor's handle is the interpreter's own; its layout is part of its type alone, since a layout moves no
value. A shared memory descriptor's handle is a `SharedView`, a TMA descriptor's a `DescriptorHandle`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from flashlearn.interpreter.errors import KernelCrash, NeedsGpu
from flashlearn.interpreter.gluon.partition_races import PartitionRaces
from flashlearn.interpreter.gluon.program import GluonProgram
from flashlearn.interpreter.gluon.shared_memory import SharedView
from flashlearn.interpreter.gluon.timeline import Timeline
from flashlearn.interpreter.low_precision import numpy_dtype


class PendingHandle(TensorHandle):
    """The accumulator of a product that has not been waited for: it has no values yet."""

    pending = True

    def __init__(self, value: np.ndarray, dtype: tl.dtype, number: int, misuse: Callable[[], Exception]):
        self.value, self.dtype, self.attr = value, dtype, {}
        self.number, self.misuse = number, misuse

    @property
    def data(self) -> np.ndarray:
        """Raises the fault of reading it."""
        raise self.misuse()


class GluonOperations:
    """Mixed into an `ObservedBuilder`. `block` is the program that runs; `call` runs a jitted function."""

    timeline: Timeline
    kernel = "the kernel"
    order: random.Random | None = None
    warps = 4
    launch_number = 0
    block: GluonProgram
    races: PartitionRaces
    call: Callable

    def run_program(self, program: Callable, arguments: dict[str, Any]) -> None:
        """Run one program of the grid to its end. Raises SyncError."""
        whose = self.launch_number, self.memory.program
        place, counters = self.memory.place, self.operations
        self.timeline.begin(*whose)
        self.block = GluonProgram(self.kernel, self.warps, self.order, place, counters, self.timeline, whose)
        self.races = PartitionRaces(self.block, self.memory.races)
        self.memory.subscribe(self.races, first=True)
        try:
            program(**arguments)
            self.block.close()
        finally:
            self.memory.events.remove(self.races)
            self.block.baton.abandon()

    # types: a layout stays what it is in Python

    def get_distributed_ty(self, element, shape, layout):
        return tl.block_type(element, list(shape))

    def get_shared_mem_desc_ty(self, element, shape, layout, alloc_shape):
        return element, tuple(shape), layout

    def get_tensor_descriptor_layout_type(self, block, is_signed, layout):
        return block

    def __getattr__(self, name: str) -> Any:
        if name.startswith("get_") and name.endswith("_layout"):
            return lambda *_: None
        if name.startswith("create_") or name == "get_shared_bank_conflicts":
            raise NeedsGpu(
                f"This operation of Gluon ({name.removeprefix('create_')}) is not known to the interpreter: "
                "the kernel needs a GPU to be judged.",
                self.memory.place(),
            )
        raise AttributeError(name)

    # tiles

    def create_broadcast(self, handle, kind):
        return super().create_broadcast(handle, getattr(kind, "shape", kind))

    def create_histogram(self, handle, bins, mask, *_layout):
        return super().create_histogram(handle, bins, mask)

    def create_convert_layout(self, _kind, handle):
        return handle

    def create_set_auto_layout(self, _layout, handle):
        return handle

    def is_convert_layout_trivial(self, _kind, _handle):
        return True

    # shared memory

    def create_local_alloc(self, kind, value=None):
        element, shape, layout = kind
        size = int(np.prod(shape, dtype=int)) * numpy_dtype(element).itemsize
        view = SharedView.whole(self.block.allocate(size), element, shape, layout)
        if value is not None:
            self.create_local_store(view, value)
        return view

    def create_local_dealloc(self, view):
        """Shared memory lives as long as its program here."""

    def create_local_load(self, _kind, view):
        self.block.read(view)
        return TensorHandle(view.array.copy(), view.element.scalar)

    def create_local_store(self, view, value):
        values = value.data
        self.block.write(view)
        view.array[...] = np.broadcast_to(values, view.array.shape)

    def create_local_gather(self, _kind, view, indices, axis):
        self.block.read(view)
        return TensorHandle(np.take_along_axis(view.array, indices.data.astype(np.int64), axis), view.element)

    def create_local_scatter(self, view, values, indices, axis):
        self.block.write(view)
        np.put_along_axis(view.array, indices.data.astype(np.int64), values.data, axis)

    def create_memdesc_subslice(self, kind, view, offsets):
        return view.part([int(o) for o in offsets], kind[1])

    def create_memdesc_index(self, _kind, view, index):
        return view.at(int(np.asarray(index.data).item()))

    def create_memdesc_trans(self, view, _order):
        return self.reordered(view)

    def create_memdesc_reshape(self, view, _shape):
        return self.reordered(view)

    def get_gluon_layout_from_memdesc(self, view):
        return view.layout

    def create_memdesc_reinterpret(self, kind, view):
        element, shape, layout = kind
        size = int(np.prod(shape, dtype=int)) * numpy_dtype(element).itemsize
        room = view.allocation.data.size - view.span[0]
        if size > room:
            raise KernelCrash(
                f"`_reinterpret` asks for {size} bytes of {view.name}, and there are {room}.",
                self.memory.place(),
            )
        return view.reinterpreted(element, shape, layout)

    def create_fence_async_shared(self, *_rest):
        self.block.fence()

    def create_barrier(self, *rest, **options):
        super().create_barrier(*rest, **options)
        self.block.rest()

    def create_cluster_sync(self, *_rest):
        self.block.rest()

    def create_cluster_barrier(self, *_rest):
        self.block.rest()

    def create_fence_mbarrier_init_release_cluster(self, *_rest):
        """A cluster of one program needs none."""

    def create_cluster_arrive(self, *_rest):
        """A cluster of one program has no other to wait for."""

    def create_cluster_wait(self, *_rest):
        """A cluster of one program has no other to wait for."""

    # barriers

    def create_mbarrier_init(self, view, count, *_rest):
        self.block.make(view, int(count))

    def create_mbarrier_inval(self, view):
        self.block.unmake(view)

    def create_mbarrier_expect(self, view, size, pred, *_rest):
        if _true(pred):
            self.block.expect(view, int(size))

    def create_mbarrier_arrive(self, view, count, *rest):
        pred = next(one for one in rest if isinstance(one, TensorHandle))  # triton 3.8 has it last
        if _true(pred):
            self.block.arrive(view, int(count))

    def create_mbarrier_wait(self, view, phase, pred, *_rest):
        if _true(pred):
            self.block.wait(view, int(np.asarray(phase.data).item()))

    # TMA

    def create_make_tensor_descriptor(self, *arguments):
        if isinstance(arguments[0], TensorHandle):  # a descriptor of Triton's own language
            return super().create_make_tensor_descriptor(*arguments)
        block, base, shape, strides, padding = arguments[:5]
        signed = block.element_ty.is_int_signed()
        return super().create_make_tensor_descriptor(base, shape, strides, block.shape, signed, padding)

    def create_async_tma_copy_global_to_local(self, described, coordinates, barrier, view, pred, *rest):
        if not _true(pred):
            return
        if rest and rest[0]:
            raise NeedsGpu(
                "A copy to all programs of a cluster needs a GPU to be judged.", self.memory.place()
            )
        self._fits(described, view)
        self.races.until = self.block.load(view, barrier)
        values = self.create_descriptor_load(described, coordinates)
        self.races.until = None
        view.array[...] = values.data.reshape(view.array.shape)

    def create_async_tma_copy_local_to_global(self, described, coordinates, view, *_policy):
        self._fits(described, view)
        self.block.store(view)
        self.create_descriptor_store(described, self._stored(described, view), coordinates)

    def create_async_tma_reduce(self, kind, described, coordinates, view, *_rest):
        self._fits(described, view)
        self.block.store(view)
        self.create_descriptor_reduce(kind, described, self._stored(described, view), coordinates)

    def create_async_tma_store_wait(self, pendings, *_read_only):
        self.block.finish("tma store", int(pendings))

    def _stored(self, described, view) -> TensorHandle:
        return TensorHandle(view.array.reshape(described.block_shape).copy(), view.element.scalar)

    def _fits(self, described, view) -> None:
        size = described.element.primitive_bitwidth // 8
        wanted = int(np.prod(described.block_shape, dtype=int)) * size
        if view.nbytes != wanted or view.array.itemsize != size:
            raise self.block.fail(
                "box and buffer", self.memory.place(), view.allocation.place, buffer=view.name,
                box=tuple(described.block_shape), shape=tuple(view.array.shape),
                element=str(described.element), other=str(view.element),
            )  # fmt: skip

    # cp.async

    def create_async_copy_global_to_local(self, view, pointers, mask, other, *_rest):
        self.block.copy_in(view)
        lanes = mask if isinstance(mask, TensorHandle) else None
        fill = other if isinstance(other, TensorHandle) else None
        if lanes is None:
            values = self.create_load(pointers)
        else:
            zero = TensorHandle(np.zeros(1, view.array.dtype), view.element.scalar)
            values = self.create_masked_load(pointers, lanes, fill or zero, None, None, False)
        view.array[...] = values.data.reshape(view.array.shape)

    def create_async_commit_group(self):
        self.block.commit()

    def create_async_wait_group(self, outstanding):
        self.block.finish("cp.async", int(outstanding))

    # products

    def create_warpgroup_mma(self, a, b, acc, use_acc, precision, imprecise, is_async):
        block = self.block
        shared = [operand for operand in (a, b) if isinstance(operand, SharedView)]
        left, right = self._operand(a), self._operand(b)
        before = acc.value if isinstance(acc, PendingHandle) else acc.data
        if not _true(use_acc):
            before = np.zeros_like(before)
        *_, m, k = left.data.shape
        block.product(shared, 2 * m * k * right.data.shape[-1])
        start = TensorHandle(before, acc.dtype.scalar)
        out = self.create_dot(left, right, start, precision, imprecise)
        number = block.me.issued["wgmma"]
        if not is_async:
            block.finish("wgmma", 0)
            return out
        place = self.memory.place()
        misuse = lambda: block.fail("product not waited for", self.memory.place(), place)  # noqa: E731
        return PendingHandle(out.data, out.dtype, number, misuse)

    def create_warpgroup_mma_wait(self, handles, outstanding):
        block = self.block
        block.finish("wgmma", int(outstanding))
        done = block.me.done.get("wgmma", 0)
        return [
            TensorHandle(h.value, h.dtype) if isinstance(h, PendingHandle) and h.number <= done else h
            for h in handles
        ]

    def _operand(self, operand) -> TensorHandle:
        if isinstance(operand, SharedView):
            return TensorHandle(operand.array, operand.element.scalar)
        return operand


def _true(pred) -> bool:
    return pred is None or bool(np.asarray(pred.data).all())
