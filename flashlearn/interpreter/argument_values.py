"""A launch's arguments as the interpreted kernel gets them: tensors become pointers, numbers scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import triton.language as tl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.runtime.jit import TensorWrapper, mangle_type
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.interpreter.language import integer, scalar


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
        return tl.tuple(parts, tl.tuple_type([part.type for part in parts], fields) if named else None)

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
