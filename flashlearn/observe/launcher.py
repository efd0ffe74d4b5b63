"""What the launcher does in torch around its kernels: what it allocates, and what it computes.

A dispatch mode sees every torch operation. Memory that `torch.empty` gives out is poisoned, so that
a result nobody wrote cannot look right; operations that would do the exercise's work are noted; and
tensors computed from what a kernel stored remain the kernel's work.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from flashlearn.observe.access import place_of
from flashlearn.observe.memory import Memory
from flashlearn.outcome import Place

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
PUBLIC = {
    "mm": "torch.mm or @", "bmm": "torch.bmm or @", "_softmax": "torch.softmax", "addmm": "torch.addmm",
    "_log_softmax": "torch.log_softmax", "_softmax_backward_data": "the backward of torch.softmax",
}  # fmt: skip


class LauncherWatch(TorchDispatchMode):
    """Follows the tensors of one call. `forbidden` lists (operation, place) of what was not allowed."""

    def __init__(self, memory: Memory | None):
        super().__init__()
        self.memory = memory
        self.forbidden: list[tuple[str, Place | None]] = []
        self.derived: set[int] = set()
        self.filled: dict[int, torch.UntypedStorage] = {}
        self._kept: list[torch.UntypedStorage] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        out = self.allocate(func, args, kwargs) if name in EMPTY else func(*args, **kwargs)
        if name in EMPTY:
            self.poison(out)
        elif name in FILLED:
            self.filled[_key(out)] = out.untyped_storage()
        else:
            self._follow(name, args, kwargs, out)
        return out

    def allocate(self, func, args, kwargs) -> torch.Tensor:
        """Make an empty tensor; a subclass may put guard zones around it."""
        return func(*args, **kwargs)

    def poison(self, out: torch.Tensor) -> None:
        """NaN (or a conspicuous integer) everywhere, and remember that nobody has written it."""
        if out.numel() == 0:
            return
        fill_poison(out)
        if self.memory is not None and out.device.type == "cpu":
            region = self.memory.region_of(out)
            region.unwritten = torch.ones(len(region.stored), dtype=torch.bool).numpy()

    def _follow(self, name: str, args: tuple, kwargs: dict, out: Any) -> None:
        if name in FORBIDDEN:
            self.forbidden.append((PUBLIC.get(name, f"torch.{name.strip('_')}"), learner_place()))
        inputs = [t for t in tree_flatten((args, kwargs))[0] if isinstance(t, torch.Tensor)]
        outputs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        written = outputs if not name.endswith("_") else [*outputs, *inputs[:1]]
        from_kernel = any(self.from_kernel(t) for t in inputs)
        aliases = {_key(t) for t in inputs}
        for tensor in written:
            if self.memory is not None and _key(tensor) in self.memory.by_storage and name.endswith("_"):
                self.memory.by_storage[_key(tensor)].unwritten = None
            if from_kernel and _key(tensor) not in aliases:
                self.derived.add(_key(tensor))
                self._kept.append(tensor.untyped_storage())

    def from_kernel(self, tensor: torch.Tensor) -> bool:
        """True if a kernel stored into this tensor's memory, or torch computed it from such memory."""
        key = _key(tensor)
        if key in self.derived:
            return True
        region = self.memory.by_storage.get(key) if self.memory is not None else None
        return region is not None and bool(region.stored.any())


def fill_poison(tensor: torch.Tensor) -> None:
    """Values that no right answer contains."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        tensor.fill_(float("nan"))
    elif tensor.dtype != torch.bool:
        tensor.fill_(torch.iinfo(tensor.dtype).max - 81)


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
    return tensor.untyped_storage()._cdata


__all__ = ["LauncherWatch", "fill_poison", "learner_place"]
