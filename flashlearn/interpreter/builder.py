"""The observed interpreter's operations: the stock builder with memory, counting and rounding ours.

Subclassing keeps every operation that this module does not name exactly as triton ships it.
Trailing arguments (cache modifiers, eviction policies) differ between triton 3.6 and 3.9 and mean
nothing here, so they are swallowed.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from triton._C.libtriton import ir as _ir
from triton.language import core as tl_core
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

from flashlearn.interpreter import libdevice
from flashlearn.interpreter.cautions import TF32
from flashlearn.interpreter.descriptors import DescriptorOperations
from flashlearn.interpreter.errors import NeedsGpu
from flashlearn.interpreter.low_precision import BF16, FLOATS, NARROW, cast, numpy_dtype
from flashlearn.interpreter.memory import Memory

TF32_SENTENCE = (
    "By default, a GPU multiplies the fp32 tiles of this `tl.dot` in TF32: of the 23 bits of each operand's "
    "mantissa it uses 10, about three decimal digits. Here all 23 were used; "
    'input_precision="ieee" multiplies in full fp32, and more slowly.'
)
IMPLICIT_MASK = "implicit mask"  # an attribute of the mask that triton gives to an atomic without one
SPECIAL = frozenset({np.exp, np.exp2, np.log, np.log2, np.sin, np.cos, np.sqrt})
ADD = {_ir.ATOMIC_OP.ADD, _ir.ATOMIC_OP.FADD}
COMBINE = {
    _ir.ATOMIC_OP.MIN: np.minimum,
    _ir.ATOMIC_OP.UMIN: np.minimum,
    _ir.ATOMIC_OP.MAX: np.maximum,
    _ir.ATOMIC_OP.UMAX: np.maximum,
    _ir.ATOMIC_OP.AND: np.bitwise_and,
    _ir.ATOMIC_OP.OR: np.bitwise_or,
    _ir.ATOMIC_OP.XOR: np.bitwise_xor,
}


class ObservedBuilder(DescriptorOperations, InterpreterBuilder):
    """Counts in `operations`, touches memory only through `memory`.

    With `holds_wide` numbers of a narrow type may be held in a wider one, and are not cast back.
    """

    holds_wide = False

    def __init__(self, memory: Memory):
        super().__init__()
        self.memory = memory
        self.operations: Counter[str] = Counter()
        # what would assert in debug mode that no integer overflows, and is thrown away here: half of the time
        self.options = dataclasses.replace(self.options, sanitize_overflow=False)
        self.grid_idx = (0, 0, 0)

    def run_program(self, program: Callable, arguments: dict[str, Any]) -> None:
        """Run one program of the grid to its end."""
        program(**arguments)

    # memory

    def create_load(self, ptr, *_rest, **_options):
        return self._load(ptr, None, None)

    def create_store(self, ptr, value, *_rest, **_options):
        self.memory.store(ptr.data, value.data, None)

    def create_masked_load(self, ptrs, mask, other, *_rest, **_options):
        return self._load(ptrs, _mask(mask), _data(other))

    def create_masked_store(self, ptrs, value, mask, *_rest, **_options):
        self.memory.store(ptrs.data, value.data, _mask(mask))

    def create_tensor_pointer_load(self, ptr, boundary_check, *rest):
        with self.memory.following(boundary_check=tuple(boundary_check)):
            return super().create_tensor_pointer_load(ptr, boundary_check, *rest)

    def create_tensor_pointer_store(self, ptr, value, boundary_check, *rest):
        with self.memory.following(boundary_check=tuple(boundary_check)):
            return super().create_tensor_pointer_store(ptr, value, boundary_check, *rest)

    def _load(self, ptrs, mask, other):
        element = ptrs.get_element_ty()
        return TensorHandle(self.memory.load(ptrs.data, mask, other, numpy_dtype(element)), element)

    def create_atomic_rmw(self, operation, ptr, value, mask, sem, scope):
        value_data = np.broadcast_to(value.data, ptr.data.shape)

        def update(items, index, lanes):
            values = value_data[lanes]
            return _running_old(operation, items, index, values)

        lanes = _mask(mask)
        if value.data.dtype in FLOATS:
            self.operations["elementwise"] += ptr.data.size if lanes is None else int(lanes.sum())
        sync = sem != _ir.MEM_SEMANTIC.RELAXED
        old = self.memory.atomic(ptr.data, lanes, value.data.dtype, update, sync, operation in ADD)
        return TensorHandle(old, value.dtype.scalar)

    def create_atomic_cas(self, ptr, compare, value, sem, scope):
        wanted = np.broadcast_to(compare.data, ptr.data.shape)
        new = np.broadcast_to(value.data, ptr.data.shape)

        def update(items, index, lanes):
            old = np.empty(index.shape, items.dtype)
            for k, i in enumerate(index):  # one lane after another, as the hardware serialises them
                old[k] = items[i]
                if items[i] == wanted[lanes][k]:
                    items[i] = new[lanes][k]
            return old

        sync = sem != _ir.MEM_SEMANTIC.RELAXED
        return TensorHandle(
            self.memory.atomic(ptr.data, None, value.data.dtype, update, sync), value.dtype.scalar
        )

    # arithmetic

    def binary_op(self, lhs, rhs, op):
        out = op(lhs.data, rhs.data)
        dtype = lhs.dtype.scalar
        if out.dtype in FLOATS:
            self.operations["elementwise"] += out.size
        if out.dtype.itemsize * 8 > max(8, dtype.primitive_bitwidth) and not dtype.is_ptr():
            out = out.astype(numpy_dtype(dtype))
        return TensorHandle(out, dtype)

    def unary_op(self, arg, op):
        out = op(arg.data)
        if out.dtype in FLOATS:
            self.operations["special" if op in SPECIAL else "elementwise"] += out.size
        return TensorHandle(out, arg.dtype.scalar)

    def create_fneg(self, arg):
        return self.unary_op(arg, np.negative)

    def create_rsqrt(self, arg):
        self.operations["special"] += arg.data.size
        return TensorHandle((1 / np.sqrt(arg.data)).astype(arg.data.dtype), arg.dtype.scalar)

    def create_fma(self, x, y, z):
        self.operations["elementwise"] += 2 * x.data.size
        exact = np.multiply(x.data, y.data, dtype=np.float64) if x.data.dtype not in NARROW else (
            x.data.astype(np.float64) * y.data.astype(np.float64)
        )  # fmt: skip
        return TensorHandle((exact + z.data.astype(np.float64)).astype(z.data.dtype), z.dtype.scalar)

    def create_extern_elementwise(self, library, path, symbol, arguments, result, is_pure):
        out = libdevice.evaluate(symbol, arguments, result)
        self.operations["special"] += out.data.size
        return out

    def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
        left, right = a.data, b.data
        for publish in self.memory.events.before_dot:
            publish(left, right)
        if input_precision == _ir.INPUT_PRECISION.TF32 and left.dtype == right.dtype == np.float32:
            self.memory.cautions.add(TF32, TF32_SENTENCE, self.memory.place())
        if left.dtype in FLOATS:
            left, right = _wide(left, d.data.dtype), _wide(right, d.data.dtype)
        *batch, m, k = left.shape
        self.operations["dot"] += 2 * int(np.prod(batch, dtype=int)) * m * k * right.shape[-1]
        product = np.matmul(left, right) if left.dtype in FLOATS else np.matmul(
            left.astype(d.data.dtype), right.astype(d.data.dtype)
        )  # fmt: skip
        return TensorHandle((product + d.data).astype(d.data.dtype), d.dtype.scalar)

    # casts

    def cast_impl(self, src, dst_type):
        return TensorHandle(cast(src.data, numpy_dtype(dst_type)), dst_type.scalar)

    def create_fp_to_fp(self, src, dst_type, rounding_mode):
        toward_zero = rounding_mode == _ir.ROUNDING_MODE.RTZ
        return TensorHandle(cast(src.data, numpy_dtype(dst_type), toward_zero), dst_type.scalar)

    def create_int_to_ptr(self, src, dst_type):
        addresses = src.data.astype(np.int64).view(np.uint64)
        return TensorHandle(self.memory.raw_pointers.virtual(addresses, self._base), dst_type.scalar)

    def _base(self, tensor):
        return self.memory.region_of(tensor).base

    def create_ptr_to_int(self, src, dst_type):
        return TensorHandle(src.data.view(np.int64).astype(numpy_dtype(dst_type)), dst_type.scalar)

    def create_splat(self, ret_ty, arg):
        if arg.data.dtype != np.bool_:
            return super().create_splat(ret_ty, arg)
        # the stock one takes the dtype of what was compared, and a mask of integers is an index to numpy
        return TensorHandle(np.full(ret_ty.shape, arg.data), arg.dtype.scalar, dict(arg.attr))

    def get_int1(self, value):
        return TensorHandle(np.array([value], dtype=np.bool_), tl_core.int1, {IMPLICIT_MASK: True})

    def get_bf16(self, value):
        return TensorHandle(np.array([value], dtype=BF16), tl_core.bfloat16)

    def create_inline_asm(self, *_rest, **_options):
        raise NeedsGpu(
            "`tl.inline_asm_elementwise` hands a GPU's own instructions to its assembler. No CPU runs "
            "them: this kernel needs a GPU to be judged.",
            self.memory.place(),
        )

    def create_barrier(self, *_rest, **_options):
        """A program's lanes run as one here: a barrier only matters to observers."""
        for publish in self.memory.events.on_barrier:
            publish()


def _mask(handle) -> np.ndarray | None:
    """A mask as truth values; None where the kernel has none (triton adds one to an atomic)."""
    data = _data(handle)
    if data is None or getattr(handle, "attr", {}).get(IMPLICIT_MASK):
        return None
    return data if data.dtype == np.bool_ else data != 0


def _data(handle) -> np.ndarray | None:
    """The array of a handle; triton passes bare arrays in some places, handles in others."""
    return handle.data if isinstance(handle, TensorHandle) else handle


def _wide(data: np.ndarray, accumulator: np.dtype) -> np.ndarray:
    return data if data.dtype == np.float64 == accumulator else data.astype(np.float32)


def _running_old(operation, items: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Apply a read-modify-write lane by lane (duplicate addresses included); return the old values."""
    if index.size == np.unique(index).size:
        old = items[index]
        items[index] = _combine(operation, old, values)
        return old
    old = np.empty(index.shape, items.dtype)
    for k, i in enumerate(index):
        old[k] = items[i]
        items[i] = _combine(operation, items[i : i + 1], values[k : k + 1])[0]
    return old


def _combine(operation, old: np.ndarray, values: np.ndarray) -> np.ndarray:
    if operation in ADD:
        return (old + values).astype(old.dtype)
    if operation == _ir.ATOMIC_OP.XCHG:
        return values
    if operation in COMBINE:
        return COMBINE[operation](old, values)
    raise ValueError(f"this atomic is not known to the interpreter: {operation}")
