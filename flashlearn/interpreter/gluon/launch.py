"""What a session needs to run a Gluon kernel as it runs Triton's: a builder, the language, descriptors."""

from __future__ import annotations

import dataclasses
import random
from types import SimpleNamespace
from typing import Any

import triton.language as tl
from triton.experimental.gluon.language import _core as ttgl
from triton.experimental.gluon.language.nvidia.hopper import tma

from flashlearn.interpreter.builder import ObservedBuilder
from flashlearn.interpreter.errors import NeedsGpu
from flashlearn.interpreter.gluon.operations import GluonOperations
from flashlearn.interpreter.gluon.timeline import Timeline
from flashlearn.interpreter.memory import Memory

WARPS = 4
HOPPER = {"enable_iisan": False, "num_ctas": 1, "max_num_imprecise_acc_default": 1 << 30}
"""Options that Gluon's functions ask for, beyond those of the interpreter."""


def builder_for(
    kind: type[ObservedBuilder], memory: Memory, options: dict[str, Any], order: random.Random | None,
    timeline: Timeline, launched: tuple[str, int],
) -> Any:  # fmt: skip
    """A builder of this kind that knows Gluon's operations too. Raises NeedsGpu for clusters.

    `launched` is the kernel's name and the number of the launch.
    """
    if options.get("num_ctas", 1) not in (None, 1):
        raise NeedsGpu("A launch with clusters of several programs (num_ctas) needs a GPU to be judged.")
    builder = type(f"Gluon{kind.__name__}", (GluonOperations, kind), {})(memory)
    builder.order, builder.timeline = order, timeline
    builder.kernel, builder.launch_number = launched
    builder.warps = int(options.get("num_warps") or WARPS)
    known = {f.name: getattr(builder.options, f.name) for f in dataclasses.fields(builder.options)}
    builder.options = SimpleNamespace(**known | HOPPER | {"num_warps": builder.warps})
    builder.most_registers = options.get("maxnreg")
    return builder


def descriptor(semantic: Any, value: Any, base: tl.tensor, integer: Any) -> Any:
    """A descriptor that the launcher made (`TensorDescriptor`), as a kernel gets it."""
    shape = [integer(int(n)) for n in value.shape]
    strides = [integer(int(n)) for n in value.strides]
    element = base.dtype.element_ty
    block = ttgl.block_type(element, [int(n) for n in value.block_shape])
    padding = semantic._str_to_padding_option(value.padding)
    handle = semantic.builder.create_make_tensor_descriptor(
        block, base.handle, [n.handle for n in shape], [n.handle for n in strides], padding
    )
    return tma.tensor_descriptor(handle, shape, strides, block, layout=value.layout)
