"""A launcher's plan, carried out: a function of the inputs in which no line of the launcher runs.

    >>> replay = replayer(plan)
    >>> out = replay(x, 0.5)            # the torch operations and the launches of the plan, with these inputs

Kernels are made anew from the plan's texts. Whoever does not trust their author reads the texts before: see
flashlearn.classroom.grading.plan_review.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor as GluonDescriptor
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.compiler.worker import Shipment, unpack
from flashlearn.interpreter.arguments import tensors_in
from flashlearn.running.launcher_plan import (
    ConstantTensor,
    DescriptorRef,
    KernelLaunch,
    LauncherPlan,
    Operation,
    PackedValue,
    PointerRef,
    TensorRef,
    TorchName,
    WrappedRef,
)
from flashlearn.running.launcher_work import LauncherWork


class KernelTexts(Shipment):
    """The plan's functions, made of their texts, bodies and all."""

    runs, file = True, "<plan {}>"


def replayer(plan: LauncherPlan) -> Callable[..., Any]:
    """The plan as a function of the launcher's inputs. Raises what the texts of its kernels raise."""
    functions = KernelTexts(list(plan.functions), list(plan.aggregates))

    def replay(*inputs: Any) -> Any:
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        done = _Replay(plan, functions, tensors)
        replay.work = done.work
        return done.run()

    return replay


class _Replay:
    def __init__(self, plan: LauncherPlan, functions: Shipment, inputs: list[torch.Tensor]):
        self.plan, self.functions = plan, functions
        self.tensors = dict(enumerate(inputs))
        self.addressed: list[torch.Tensor] = []
        self.work = LauncherWork(inputs)

    def run(self) -> Any:
        """Do every step; what the plan returns."""
        for step in self.plan.steps:
            if isinstance(step, Operation):
                self._operate(step)
            elif isinstance(step, KernelLaunch):
                self._launch(step)
            elif isinstance(step, ConstantTensor):
                self._bring(step)
        return tree_map(self._value, self.plan.returned, is_leaf=_is_ref)

    def _bring(self, step: ConstantTensor) -> None:
        value = step.value.clone(memory_format=torch.preserve_format)
        for index, pointer in step.pointers:
            value.view(-1)[index] = self._address(pointer)
        self.tensors[step.number] = value

    def _operate(self, step: Operation) -> None:
        operation = getattr(getattr(torch.ops.aten, step.name), step.overload or "default")
        args, named = tree_map(self._value, (step.args, step.named), is_leaf=_is_ref)
        out = operation(*args, **named)
        found = [out] if isinstance(out, torch.Tensor) else list(out or ())
        for number, tensor in zip(step.gives, found, strict=True):
            self.tensors.setdefault(number, tensor)
        self.work.operated(operation, args, named, found)

    def _launch(self, step: KernelLaunch) -> None:
        values = {name: self._argument(value) for name, value in step.values.items()}
        among = [one for name, value in values.items() for _, one in tensors_in(name, value)]
        self.work.launched([*among, *self.addressed])  # an address may be in any tensor by now
        self.functions[step.kernel][tuple(step.grid)](**values, **step.options)

    def _value(self, value: Any) -> Any:
        if isinstance(value, TensorRef):
            return self.tensors[value.number]
        if isinstance(value, TorchName):
            return torch.device("cpu") if value.kind == "device" else getattr(torch, value.name)
        return value

    def _argument(self, value: Any) -> Any:
        if isinstance(value, TensorRef):
            return self.tensors[value.number]
        if isinstance(value, tuple):
            return tuple(self._argument(part) for part in value)
        if isinstance(value, PointerRef):
            return self._address(value)
        if isinstance(value, WrappedRef):
            return TensorWrapper(self.tensors[value.base], value.dtype)
        if isinstance(value, DescriptorRef):
            return self._descriptor(value)
        return unpack(value.value, self.functions) if isinstance(value, PackedValue) else value

    def _descriptor(self, one: DescriptorRef) -> Any:
        shape = self.tensors[one.base], list(one.shape), list(one.strides), list(one.block_shape)
        if one.gluon:
            return GluonDescriptor(*shape, unpack(one.layout, self.functions), one.padding)
        return TensorDescriptor(*shape, one.padding)

    def _address(self, pointer: PointerRef) -> int:
        self.addressed.append(self.tensors[pointer.tensor])
        return self.addressed[-1].data_ptr() + pointer.offset


def _is_ref(value: Any) -> bool:
    return isinstance(value, TensorRef | TorchName)
