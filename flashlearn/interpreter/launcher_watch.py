"""What the launcher does in torch around its kernels: what it allocates, and what it computes.

A dispatch mode sees every torch operation. Memory that `torch.empty` gives out is poisoned, so that
a result that was never written cannot look right; operations that would do the exercise's work are noted; and
tensors computed from what a kernel stored remain the kernel's work. So are the tensors noted whose addresses
the launcher asks for.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.interpreter.address_space import RawPointers
from flashlearn.interpreter.dispatch_mode import LightDispatchMode
from flashlearn.interpreter.learner_code import place_of
from flashlearn.interpreter.memory import Memory
from flashlearn.observation import Place

EMPTY = {"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted"}
FILLED = {
    "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full",
}  # fmt: skip
FORBIDDEN = {
    "mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "addr", "dot", "vdot", "matmul", "linear",
    "_softmax", "softmax", "_log_softmax", "log_softmax", "logsumexp", "_logsumexp", "logcumsumexp",
    "einsum", "tensordot", "cdist", "convolution", "_softmax_backward_data", "_log_softmax_backward_data",
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_attention_math", "_scaled_dot_product_fused_attention_overrideable",
    "scaled_dot_product_attention", "_flash_attention_forward", "_efficient_attention_forward",
    "native_layer_norm", "_fused_rms_norm",
}  # fmt: skip
COPIES = {"clone", "_to_copy", "contiguous", "constant_pad_nd", "cat", "stack", "copy_"}
CONSTANT = {"zero_", "fill_"}
REPLACES = {
    "copy_", "index_put_", "_index_put_impl_", "index_copy_", "masked_scatter_", "scatter_", "put_", "out",
}  # fmt: skip
FACTORIES = EMPTY | FILLED | {
    "arange", "linspace", "rand", "randn", "randint", "eye", "repeat", "constant_pad_nd",
}  # fmt: skip
WITH_AUTOGRAD = "autograd is on"
"""Under this name `LauncherWatch.counted` has the operations that autograd could follow."""
LARGE = 1 << 26  # elements; below, memory is never short
PUBLIC = {
    "mm": "torch.mm or @", "bmm": "torch.bmm or @", "_softmax": "torch.softmax", "addmm": "torch.addmm",
    "_log_softmax": "torch.log_softmax", "_softmax_backward_data": "the backward of torch.softmax",
}  # fmt: skip
DESCRIBED = TensorDescriptor.__post_init__.__code__
"""Looks at a tensor's address, and keeps none."""


class LauncherWatch(LightDispatchMode):
    """Follows the tensors of one call. `forbidden` lists (operation, place) of what was not allowed.

    `arithmetic` lists likewise what torch computed of the inputs' elements, which most exercises allow.
    `counted` has for every operation the elements that it took or gave, of a product the pairs of them.
    `met` are tensors that torch added to a kernel's results, or multiplied them with.
    `fresh` fills the memory that torch.empty gives out: NaN, unless an experiment wants to know whether the
    answer depends on it.
    """

    def __init__(self, memory: Memory | None, fresh: float = math.nan):
        super().__init__()
        self.memory = memory
        self.fresh = fresh
        self.forbidden: list[tuple[str, Place | None]] = []
        self.arithmetic: list[tuple[str, Place | None]] = []
        self.met: list[torch.Tensor] = []
        self.counted: Counter[str] = Counter()
        self.derived: set[int] = set()
        self.filled: dict[int, torch.UntypedStorage] = {}
        self.touched: set[int] = set()
        self.overwritten: set[int] = set()
        self.given: set[int] = set()
        self._kept: list[torch.UntypedStorage] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        if self.memory is not None:
            refuse_huge(name, func, args, kwargs)
        out = self.allocate(func, args, kwargs) if name in EMPTY else func(*args, **kwargs)
        if torch.is_grad_enabled():
            self.counted[WITH_AUTOGRAD] += 1
        if name in EMPTY:
            self.poison(out)
        elif name in FILLED:
            self.filled[_key(out)] = out.untyped_storage()
        else:
            self._follow(func, name, args, kwargs, out)
        return out

    def allocate(self, func, args, kwargs) -> torch.Tensor:
        """Make an empty tensor; a subclass may put guard zones around it."""
        return func(*args, **kwargs)

    def poison(self, out: torch.Tensor) -> None:
        """NaN (or a conspicuous integer) everywhere, and mark it as not yet written."""
        if out.numel() == 0:
            return
        fill_poison(out) if math.isnan(self.fresh) else out.fill_(self.fresh)
        if self.memory is not None and out.device.type == "cpu":
            for publish in self.memory.events.on_allocation:
                publish(out)

    def _follow(self, func: Any, name: str, args: tuple, kwargs: dict, out: Any) -> None:
        if name in FORBIDDEN and not _row_by_row(name, out):
            self.forbidden.append((PUBLIC.get(name, f"torch.{name.strip('_')}"), learner_place()))
        inputs = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        outputs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        if not func.is_view:
            self.counted[name] += _size(name, inputs, outputs)
        targets = written_in_place(name, args, kwargs)
        from_kernel = any(self.from_kernel(t) for t in inputs if not any(t is x for x in targets))
        if self.memory is not None:
            for publish in self.memory.events.on_torch_operation:
                publish(name, inputs, outputs, targets)
        for tensor in targets:
            self._changed("out" if kwargs.get("out") is not None else name, tensor, from_kernel)
        aliases = {_key(t) for t in inputs}
        if name in COPIES and any(_key(t) in self.given for t in inputs):
            self.given.update(_key(t) for t in (*outputs, *targets))
            self._kept += [t.untyped_storage() for t in outputs]
        elif _computes(func, name, outputs) and any(_key(t) in self.given for t in inputs):
            self.arithmetic.append((f"torch.{name.strip('_')}", learner_place()))
        if from_kernel or any(self.from_kernel(t) for t in targets):
            if _computes(func, name, outputs):
                self.met += [t for t in inputs if _key(t) not in self.given and not self.from_kernel(t)]
            for tensor in outputs:
                if _key(tensor) not in aliases:
                    self.derived.add(_key(tensor))
                    self._kept.append(tensor.untyped_storage())

    def _changed(self, name: str, tensor: torch.Tensor, from_kernel: bool) -> None:
        """Torch wrote into `tensor` in place."""
        key = _key(tensor)
        self.touched.add(key)
        if name in CONSTANT:
            self.filled[key] = tensor.untyped_storage()
        region = self.memory.by_storage.get(key) if self.memory is not None else None
        if region is None:
            return
        if name in REPLACES and not from_kernel and bool(region.stored.any()):
            self.overwritten.add(key)
        elif name in REPLACES and from_kernel:
            self.derived.add(key)
            self._kept.append(tensor.untyped_storage())

    def from_kernel(self, tensor: torch.Tensor) -> bool:
        """True if a kernel stored into this tensor's memory, or torch computed it from such memory."""
        key = _key(tensor)
        if key in self.derived:
            return True
        region = self.memory.by_storage.get(key) if self.memory is not None else None
        return region is not None and bool(region.stored.any())


class PoisonedAllocations(LightDispatchMode):
    """Poisons the memory that torch.empty gives out, as `LauncherWatch` does, and watches nothing else."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in EMPTY and out.numel():
            fill_poison(out)
        return out


def _size(name: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor]) -> int:
    """Elements that an operation takes or gives, whichever are more; of a product, the pairs of them."""
    if name in ("mm", "bmm") and inputs:
        return outputs[0].numel() * inputs[0].shape[-1]
    return max((one.numel() for one in (*inputs, *outputs)), default=0)


def _row_by_row(name: str, out: Any) -> bool:
    """True for inner products of rows, a number each; einsum calls bmm for them, as others sum x * y."""
    return name == "bmm" and out.shape[-2:] == (1, 1)


def _computes(func: Any, name: str, outputs: list[torch.Tensor]) -> bool:
    """True for arithmetic of floating-point elements; copies, casts, views and choices are none."""
    plain = COPIES | CONSTANT | {"where", "masked_fill"}
    arithmetic = (torch.Tag.pointwise in func.tags or name in FORBIDDEN) and name not in plain
    return arithmetic and any(t.is_floating_point() for t in outputs)


def written_in_place(name: str, args: tuple, kwargs: dict) -> list[torch.Tensor]:
    """The tensors that an operation writes into: its first argument (`add_`), or what `out=` names."""
    out = [t for t in tree_flatten(kwargs.get("out"))[0] if isinstance(t, torch.Tensor)]
    if name.endswith("_") and not name.endswith("__") and args and isinstance(args[0], torch.Tensor):
        out.append(args[0])
    return out


def refuse_huge(name: str, func: Any, args: tuple, kwargs: dict) -> None:
    """Raise MemoryError before torch takes more than an eighth of the memory that is left."""
    values = tree_flatten((args, kwargs))[0]
    numbers = [abs(v) for v in values if type(v) in (int, float)]
    tensors = [t for t in values if isinstance(t, torch.Tensor)]
    if name not in FACTORIES and not func.is_view:
        wanted = max((t.numel() * t.element_size() for t in tensors), default=0)
        if wanted > LARGE and wanted > free_memory() / 8:
            raise MemoryError
    elif name in FACTORIES and math.prod(max(n, 1) for n in numbers) * _most(tensors) > LARGE:
        args, kwargs = tree_map(
            _meta, (args, {**kwargs, "pin_memory": None} if "pin_memory" in kwargs else kwargs)
        )
        if name not in ("repeat", "constant_pad_nd"):
            kwargs["device"] = "meta"
        if func(*args, **kwargs).nbytes > free_memory() / 8:
            raise MemoryError


def _most(tensors: list[torch.Tensor]) -> int:
    return max((t.numel() for t in tensors), default=1)


def _meta(value: Any) -> Any:
    return value.to("meta") if isinstance(value, torch.Tensor) else value


def free_memory() -> int:
    """Bytes that are free, as Linux counts them."""
    try:
        with open("/proc/meminfo") as file:
            line = next(line for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 1 << 34
    return int(line.split()[1]) * 1024


def fill_poison(tensor: torch.Tensor) -> None:
    """Values that no right answer contains."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        tensor.fill_(float("nan"))
    elif tensor.dtype != torch.bool:
        tensor.fill_(torch.iinfo(tensor.dtype).max - 81)


@contextlib.contextmanager
def noting_raw_pointers(kept: RawPointers, launching: Callable[[], bool]) -> Iterator[None]:
    """Note the tensors that are asked for their addresses inside the block, but not by a launch itself."""
    own = torch.Tensor.__dict__.get("data_ptr")
    asked = torch.Tensor.data_ptr

    def data_ptr(tensor: torch.Tensor) -> int:
        if not launching() and sys._getframe(1).f_code is not DESCRIBED:
            kept.note(tensor)
        return asked(tensor)

    torch.Tensor.data_ptr = data_ptr
    try:
        yield
    finally:
        if own is None:
            del torch.Tensor.data_ptr
        else:
            torch.Tensor.data_ptr = own


def learner_place() -> Place | None:
    """The innermost frame that is neither torch's nor ours."""
    ours = str(Path(__file__).parent)
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(ours) and f"{'/'}torch{'/'}" not in file.replace("\\", "/"):
            return place_of(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return None


def _key(tensor: torch.Tensor) -> int:
    """Identifies a tensor's memory; sparse and nested tensors have none that can be named."""
    ordinary = tensor.layout is torch.strided and not tensor.is_nested
    return tensor.untyped_storage()._cdata if ordinary else -1
