"""A launch's arguments: bound as `kernel[grid](…)` would, recorded for the compiler, and converted.

The interpreted kernel gets scalars for numbers and pointers for tensors; those of a GPU come as copies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
import triton.language as tl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.runtime.jit import TensorWrapper, mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.language import integer, scalar
from flashlearn.interpreter.low_precision import TRITON_NAME
from flashlearn.interpreter.specialization import Specialization
from flashlearn.observation import Launch

OPTIONS = {
    "num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "launch_cooperative_grid",
    "launch_pdl", "debug", "sanitize_overflow", "extern_libs", "warp_size", "ir_override", "arch",
    "default_dot_input_precision", "allowed_dot_input_precisions", "max_num_imprecise_acc_default",
    "supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "instrumentation_mode", "minnctapersm",
    "ptx_version", "ptx_options", "cluster_dims",
}  # fmt: skip


GRID_MOST = (2**31 - 1, 65535, 65535)
"""Most programs along each axis of a grid (CUDA C++ Programming Guide, "Technical Specifications")."""


def bind(
    function: Callable, args: tuple, kwargs: dict[str, Any], devices: tuple[str, ...] = ("cpu", "cuda")
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments by parameter name, and the launch options (num_warps, …). Raises KernelCrash.

    A kernel may have a parameter with an option's name: named in the launch it is both, as for triton.
    """
    signature = inspect.signature(function)
    names = set(signature.parameters)
    options = {k: v for k, v in kwargs.items() if k not in names}
    unknown = sorted(set(options) - OPTIONS)
    if unknown:
        raise KernelCrash(
            f"{function.__name__} was launched with {unknown[0]}=…, but it has no parameter of that name. "
            f"Its parameters are {', '.join(signature.parameters)}."
        )
    try:
        bound = signature.bind(*args, **{k: v for k, v in kwargs.items() if k in names})
    except TypeError as error:
        raise KernelCrash(
            f"The launch of {function.__name__} does not fit its parameters: {error}."
        ) from None
    bound.apply_defaults()
    values = {k: v.value if isinstance(v, tl.constexpr) else v for k, v in bound.arguments.items()}
    for name, value in values.items():
        _refuse_devices(function, name, value, devices)
    return values, options | {k: values[k] for k in OPTIONS & kwargs.keys() & names}


def _refuse_devices(function: Callable, name: str, value: Any, devices: tuple[str, ...]) -> None:
    if isinstance(value, torch.Tensor) and value.device.type not in devices:
        raise KernelCrash(
            f"{name} of {function.__name__} is on {value.device}, not on the CPU or a CUDA GPU."
        )


def check_grid(grid: Any, values: dict[str, Any]) -> tuple[int, int, int]:
    """The grid as three numbers. Raises KernelCrash for what a GPU would refuse."""
    if callable(grid):
        grid = grid(values)
    if isinstance(grid, int):
        raise KernelCrash(f"The grid is {grid}; triton wants a tuple: kernel[({grid},)](…).")
    shape = tuple(grid)
    for size in shape:
        if isinstance(size, bool) or not isinstance(size, int):
            what = (
                f"The grid is {shape}: {size!r}" if isinstance(size, int | float) else "An entry of the grid"
            )
            raise KernelCrash(
                f"{what} is a {type(size).__name__}, and a grid counts programs. "
                "triton.cdiv(n, BLOCK) gives the whole number of blocks that covers n."
            )
        if size < 0:
            raise KernelCrash(f"The grid is {shape}: a negative number of programs cannot be launched.")
    if not 1 <= len(shape) <= 3:
        raise KernelCrash(f"The grid {shape} has {len(shape)} dimensions; a GPU has one, two or three.")
    for size, most, axis in zip(shape, GRID_MOST, "xyz", strict=False):
        if size > most:
            raise KernelCrash(f"The grid is {shape}: a GPU takes at most {most} programs along {axis}.")
    return (*shape, *(1,) * (3 - len(shape)))


def describe_launch(
    kernel: Any,
    function: Callable,
    values: dict,
    grid: tuple,
    options: dict,
    specialised: Specialization | None = None,
) -> Launch:
    """What a compiler needs to know of the launch: types, constants, divisibility by 16.

    Types are those that triton binds, where that is known.
    """
    signature, constants, divisible = {}, {}, set()
    bound = specialised.signature if specialised is not None else {}
    for name, value in values.items():
        if isinstance(bound.get(name), str) and bound[name] != "constexpr":
            signature[name] = bound[name]
            if _divisible(value):
                divisible.add(name)
            continue
        annotation = function.__annotations__.get(name)
        if "constexpr" in str(annotation) or value is None or (type(value) is int and value == 1):
            constants[name] = value
            continue
        signature[name] = _type_name(value)
        if _divisible(value):
            divisible.add(name)
    return Launch(
        kernel, function.__name__, grid, signature, constants, options, divisible=frozenset(divisible)
    )


def _divisible(value: Any) -> bool:
    """True for what triton compiles a special version for: a multiple of 16, as number or as address."""
    if isinstance(value, torch.Tensor):
        return value.storage_offset() * value.element_size() % 16 == 0
    return type(value) is int and value % 16 == 0


def _type_name(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"*{TRITON_NAME.get(value.dtype, str(value.dtype).removeprefix('torch.'))}"
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
    if isinstance(value, float):
        return "fp32"
    return type(value).__name__


@dataclass(frozen=True)
class ArgumentValues:
    """Converts the arguments of one launch.

    `addresses` are the tensors' by parameter name, `types` those that annotations name; `integer` makes a
    scalar of a number. `gluon` is the language of a Gluon kernel, else None.
    """

    semantic: Any
    addresses: Mapping[str, int]
    types: Mapping[str, str]
    integer: Callable[[int], tl.tensor]
    gluon: Any = None

    def of(self, function: Callable, values: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of `function`; a number whose annotation names a type has that one."""
        annotations = function.__annotations__
        return {
            name: value if _is_constexpr(annotations.get(name)) else self._parameter(name, value)
            for name, value in values.items()
        }

    def _parameter(self, name: str, value: Any) -> Any:
        kind = self.types.get(name, "")
        if kind and not kind.startswith("*") and isinstance(value, bool | int | float):
            return scalar(value, tl.str_to_ty(kind, None))
        return self._convert(name, value)

    def _convert(self, name: str, value: Any) -> Any:
        if isinstance(value, torch.Tensor | TensorWrapper):
            return scalar(self.addresses[name], tl.str_to_ty(mangle_type(value), None))
        if isinstance(value, TensorDescriptor):
            return self._descriptor(name, value)
        if isinstance(value, GluonDescriptor):
            from flashlearn.interpreter.gluon.launch import descriptor

            return descriptor(self.semantic, value, self._convert(name, value.base), integer)
        if isinstance(value, bool):
            return scalar(value, tl.int1)
        if isinstance(value, int):
            return self.integer(value)
        if isinstance(value, float):
            return scalar(value, tl.float32)
        if isinstance(value, tuple):
            return self._tuple(name, value)
        return value if self.gluon is None else self.gluon.value(value)

    def _tuple(self, name: str, value: tuple) -> tl.tuple:
        parts = [self._convert(f"{name}[{i}]", part) for i, part in enumerate(value)]
        fields = getattr(value, "_fields", None)
        named = fields and all(isinstance(part, tl.tensor) for part in parts)
        if named or any(part is None for part in parts):
            kinds = [tl.constexpr_type(None) if part is None else part.type for part in parts]
            return tl.tuple(parts, tl.tuple_type(kinds, fields if named else None))
        return tl.tuple(parts)

    def _descriptor(self, name: str, value: TensorDescriptor) -> Any:
        strides = [integer(s) for s in value.strides]
        strides[-1] = tl.constexpr(1)
        return self.semantic.make_tensor_descriptor(
            base=self._convert(name, value.base),
            shape=[integer(s) for s in value.shape],
            strides=strides,
            block_shape=[tl.constexpr(b) for b in value.block_shape],
            padding_option=value.padding,
        )


def _is_constexpr(annotation: Any) -> bool:
    return annotation is tl.constexpr or "constexpr" in str(annotation)


class HostCopies:
    """One copy for each storage, so that views stay views."""

    def __init__(self) -> None:
        self.copies: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}

    def fetch(self, value: Any) -> Any:
        """An argument with the copies in place of its GPU tensors."""
        if isinstance(value, TensorDescriptor | GluonDescriptor):
            return replace(value, base=self.fetch(value.base))
        if isinstance(value, tuple):
            parts = [self.fetch(part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if not isinstance(value, torch.Tensor) or value.device.type in ("cpu", "meta"):
            return value
        storage = value.untyped_storage()
        _, copy = self.copies.setdefault(storage.data_ptr(), (storage, storage.cpu()))
        empty = torch.empty(0, dtype=value.dtype)
        return empty.set_(copy, value.storage_offset(), value.shape, value.stride())

    def write_back(self) -> None:
        """Give the GPU what the kernel stored."""
        for device, copy in self.copies.values():
            device.copy_(copy)


def tensors_in(name: str, value: Any) -> list[tuple[str, torch.Tensor]]:
    """The tensors in an argument, with their names."""
    if isinstance(value, TensorWrapper):
        return [(name, value.base)]
    if isinstance(value, TensorDescriptor | GluonDescriptor):
        return tensors_in(name, value.base)
    if isinstance(value, torch.Tensor):
        return [(name, value)]
    if isinstance(value, tuple):
        return [pair for i, part in enumerate(value) for pair in tensors_in(f"{name}[{i}]", part)]
    return []
