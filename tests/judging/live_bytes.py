"""Bytes that tensors hold at once, counted on "meta", where they have sizes and no memory."""

from __future__ import annotations

import weakref

import torch
from torch.utils._pytree import tree_flatten

from flashlearn.interpreter.dispatch_mode import LightDispatchMode

aten = torch.ops.aten


class LiveBytes(LightDispatchMode):
    """Inside the block `peak` grows to the most bytes that tensors made there hold together.

    Every number reads as 1, and a choice of elements takes them all.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is aten._local_scalar_dense.default:
            return 1.0
        if func is aten.index.Tensor and args[1][0].dtype == torch.bool:
            out = args[0].new_empty(args[0].numel())
        elif func is aten._to_copy.default and str((kwargs or {}).get("device")) == "cpu":
            return args[0]  # a copy for the report, in other memory
        else:
            out = func(*args, **(kwargs or {}))
        for tensor in tree_flatten(out)[0]:
            if isinstance(tensor, torch.Tensor):
                self._note(tensor.untyped_storage())
        return out

    def _note(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._known:
            return

        def gone() -> None:
            self._known.discard(key)
            self.live -= size

        self._known.add(key)
        self.live += size
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, gone)
