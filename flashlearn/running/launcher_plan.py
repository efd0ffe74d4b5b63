"""What a launcher does, as plain data: the torch operations and the launches of one call, in order.

    >>> plan = record(caller, stand_ins, limit=20.0)
    >>> [type(step).__name__ for step in plan.steps]        # allocate, then launch
    ['Operation', 'KernelLaunch']

A launcher decides by shapes, strides, dtypes and numbers what is to be done; the elements of its inputs do
not matter to it. So it is called with other elements than those that it will be judged by, and what it asked
for is noted. flashlearn.running.plan_replay does the same with the elements in question, where no line of the
launcher runs: whatever the launcher knows, computes beside or pretends, none of it is in the numbers then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.compiler import packing
from flashlearn.exercise import Inputs
from flashlearn.interpreter.address_space import RawPointers
from flashlearn.interpreter.arguments import bind, check_grid
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.dispatch_mode import LightDispatchMode
from flashlearn.interpreter.launcher_watch import noting_raw_pointers
from flashlearn.interpreter.rewrite import python_function
from flashlearn.interpreter.route import apart
from flashlearn.interpreter.session import Session
from flashlearn.processes.encoding import register
from flashlearn.running.caller import Caller
from flashlearn.running.values import as_tuple, copies

READS = frozenset({"_local_scalar_dense", "is_nonzero", "equal"})
"""Operations that make a number of Python's of a tensor's elements: what is done does not depend on them."""


@dataclass(frozen=True)
class TensorRef:
    """A tensor of the plan, by its number: inputs first, in their order."""

    number: int


@dataclass(frozen=True)
class TorchName:
    """A value of torch's that is neither tensor nor number: "memory_format" and "channels_last", say."""

    kind: str
    name: str


@dataclass(frozen=True)
class PointerRef:
    """The address of a tensor's memory, `offset` bytes in."""

    tensor: int
    offset: int


@dataclass(frozen=True)
class DescriptorRef:
    """A tensor descriptor over a tensor of the plan; `layout` is packed, and only Gluon's have one."""

    base: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]
    padding: str
    round_f32_to_tf32: bool = False
    gluon: bool = False
    layout: Any = None


@dataclass(frozen=True)
class WrappedRef:
    """A tensor of the plan whose elements a kernel is to take for those of another dtype."""

    base: int
    dtype: torch.dtype


@dataclass(frozen=True)
class PackedValue:
    """An argument that is none of torch's, as flashlearn.compiler.packing makes it data."""

    value: Any


@dataclass(frozen=True)
class ConstantTensor:
    """A tensor that the launcher brings along; `pointers` are addresses among its elements, by index."""

    number: int
    value: torch.Tensor
    pointers: tuple[tuple[int, PointerRef], ...] = ()


@dataclass(frozen=True)
class Operation:
    """One of torch's: its name and overload, its arguments, and the numbers of the tensors that it gives."""

    name: str
    overload: str
    args: tuple
    named: dict
    gives: tuple[int, ...]
    writes: tuple[int, ...] = ()


@dataclass(frozen=True)
class KernelLaunch:
    """A launch: the kernel by its number among the functions, the grid, arguments and options by name."""

    kernel: int
    grid: tuple[int, ...]
    values: dict
    options: dict


@dataclass(frozen=True)
class LauncherPlan:
    """One call: `steps` on numbered tensors, of which the first are the inputs; `returned` refers to them.

    `functions` and `aggregates` are the kernels and what they call, packed. `memory` has for each tensor the
    number of the memory that it is in. `reads` counts where elements were made numbers of Python's.
    """

    steps: tuple[ConstantTensor | Operation | KernelLaunch, ...]
    returned: Any
    functions: tuple[dict, ...]
    aggregates: tuple[dict, ...]
    memory: tuple[int, ...]
    inputs: int
    reads: int = 0


register(TensorRef, TorchName, PointerRef, DescriptorRef, WrappedRef, PackedValue, ConstantTensor)
register(Operation, KernelLaunch, LauncherPlan)


class NoPlan(Exception):
    """A call that no plan describes; the message says why."""


def record(caller: Caller, inputs: Inputs, limit: float) -> LauncherPlan:
    """The plan of one call. Raises NoPlan, and whatever the call raises."""
    given = copies(inputs)
    recording = _Recording()
    for value in given.values():
        if isinstance(value, torch.Tensor):
            recording.ref(value, known=True)
    count = len(recording.memory)
    noting = noting_raw_pointers(recording.pointers, lambda: False)
    session = _RecordingSession(recording)
    with apart(session=session), noting, deadline(limit), _Recorder(recording):
        returned = caller.call(given)
    result = tree_map(recording.value, tuple(returned) if isinstance(returned, list) else returned)
    if not all(one is None or type(one) is TensorRef for one in as_tuple(result)):
        raise NoPlan("it returns something that is no tensor")
    return LauncherPlan(
        tuple(recording.steps), result, tuple(recording.functions), tuple(recording.functions.aggregates),
        tuple(recording.memory), count, recording.reads,
    )  # fmt: skip


class _Recording:
    """Numbers tensors by where they lie: two with the same place and layout are the same to every step."""

    def __init__(self) -> None:
        self.steps: list[Any] = []
        self.functions = packing.PackedFunctions()
        self.seen: dict[int, int] = {}
        self.pointers = RawPointers()
        self.memory: list[int] = []
        self.reads = 0
        self._numbers: dict[tuple, int] = {}
        self._memories: dict[int, int] = {}
        self._kept: list[Any] = []

    def ref(self, tensor: torch.Tensor, known: bool = False) -> TensorRef:
        """A tensor's number. One that no step gave is a constant, unless it is `known`."""
        if tensor.layout is not torch.strided or tensor.is_nested:
            raise NoPlan("it uses a tensor that is sparse or nested")
        if tensor.requires_grad or type(tensor) is not torch.Tensor:
            tensor = tensor.detach().as_subclass(torch.Tensor)
        storage = tensor.untyped_storage()
        key = (
            storage._cdata, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), tensor.dtype,
            tensor.is_conj(), tensor.is_neg(),
        )  # fmt: skip
        if key not in self._numbers:
            self._kept.append(storage)
            number = self._numbers[key] = len(self.memory)
            self.memory.append(self._memories.setdefault(storage._cdata, len(self._memories)))
            if not known:
                self.steps.append(self._constant(number, tensor))
        return TensorRef(self._numbers[key])

    def _constant(self, number: int, tensor: torch.Tensor) -> ConstantTensor:
        if self.memory[number] in self.memory[:number]:
            raise NoPlan("it uses a view that torch did not make")
        pointers = ()
        if tensor.dtype is torch.int64 and self.pointers.tensors:
            found = enumerate(self.pointer(int(one)) for one in tensor.flatten().tolist())
            pointers = tuple((index, one) for index, one in found if one is not None)
        return ConstantTensor(number, tensor.clone(memory_format=torch.preserve_format), pointers)

    def pointer(self, address: int) -> PointerRef | None:
        """What an address that was asked for points to."""
        for tensor in self.pointers.tensors.values():
            offset = address - tensor.untyped_storage().data_ptr()
            if 0 <= offset < tensor.untyped_storage().nbytes():
                first = tensor.storage_offset() * tensor.element_size()
                return PointerRef(self.ref(tensor).number, offset - first)
        return None

    def value(self, value: Any) -> Any:
        """An argument of an operation, or what is returned, as data."""
        if isinstance(value, torch.Tensor):
            return self.ref(value)
        if value is None or type(value) in (bool, int, float, str, complex, torch.dtype):
            return value
        if isinstance(value, torch.memory_format | torch.layout):
            return TorchName(type(value).__name__, str(value).rpartition(".")[2])
        if isinstance(value, torch.device):
            return TorchName("device", value.type)
        if isinstance(value, torch.Generator):
            return None
        raise NoPlan(f"it gives torch a {type(value).__name__}")

    def argument(self, value: Any) -> Any:
        """An argument of a launch as data."""
        if isinstance(value, torch.Tensor):
            return self.ref(value)
        if isinstance(value, TensorWrapper):
            return WrappedRef(self.ref(value.base).number, value.dtype)
        if isinstance(value, TensorDescriptor | GluonDescriptor):
            gluon = isinstance(value, GluonDescriptor)
            layout = self._packed(value.layout) if gluon else None
            return DescriptorRef(
                self.ref(value.base).number, tuple(value.shape), tuple(value.strides),
                tuple(value.block_shape),
                str(value.padding), bool(getattr(value, "round_f32_to_tf32", False)), gluon, layout,
            )  # fmt: skip
        if isinstance(value, tuple):
            return tuple(self.argument(part) for part in value)
        if type(value) is int and (found := self.pointer(value)) is not None:
            return found
        return PackedValue(self._packed(value))

    def _packed(self, value: Any) -> Any:
        return packing.packed_value(value, self.functions, self.seen)

    def launch(self, kernel: Any, grid: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        """Note a launch."""
        values, options = bind(python_function(kernel), args, kwargs)
        shape = check_grid(grid, values)
        number = packing.add_function(packing.innermost(kernel), self.functions, self.seen)
        given = {name: self.argument(value) for name, value in values.items()}
        plain = {
            k: v for k, v in options.items() if k not in given and isinstance(v, bool | int | float | str)
        }
        self.steps.append(KernelLaunch(number, shape, given, plain))


class _RecordingSession(Session):
    """Notes launches, and runs none."""

    def __init__(self, recording: _Recording):
        super().__init__()
        self.recording = recording

    def _launch(self, kernel: Any, grid: Any, args: tuple, kwargs: dict[str, Any]) -> None:
        try:
            self.recording.launch(kernel, grid, args, kwargs)
        except (packing.PackingError, packing.UnsupportedValue) as error:
            raise NoPlan(str(error)) from None


class _Recorder(LightDispatchMode):
    """Notes every operation of torch's, and has it done."""

    def __init__(self, recording: _Recording):
        super().__init__()
        self.recording = recording

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, func.overloadpacket.__name__
        if name in READS:
            self.recording.reads += 1
            return func(*args, **kwargs)
        given, named = tree_map(self.recording.value, (tuple(args), dict(kwargs)))
        step = Operation(name, func._overloadname, given, named, ())
        out = func(*args, **kwargs)
        self.recording.steps.append(step)
        flat = tree_flatten(out)[0]
        if not all(isinstance(one, torch.Tensor) for one in flat):
            raise NoPlan(f"torch.{name} gives something that is no tensor")
        gives = tuple(self.recording.ref(one, known=True).number for one in flat)
        writes = tuple(
            self.recording.ref(value, known=True).number
            for value, argument in _by_argument(func, args, kwargs)
            if argument.alias_info is not None and argument.alias_info.is_write
        )
        self.recording.steps[-1] = replace(step, gives=gives, writes=writes)
        return out


def _by_argument(func: Any, args: tuple, kwargs: dict) -> list[tuple[torch.Tensor, Any]]:
    """The tensors among an operation's arguments, each with what its schema says of that argument."""
    schema = func._schema.arguments
    pairs = [*zip(args, schema, strict=False), *((kwargs[a.name], a) for a in schema if a.name in kwargs)]
    return [
        (one, argument)
        for value, argument in pairs
        for one in tree_flatten(value)[0]
        if isinstance(one, torch.Tensor)
    ]
