"""Results that the next check will need again, up to a number of bytes; the oldest go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import torch

from flashlearn.exercise import Case


class Remembered:
    """Tuples of tensors (or None) by key, at most `most` bytes of them."""

    def __init__(self, most: int):
        self.most = most
        self.held = 0
        self._known: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What is known under the key; else what `make` gives, which is remembered."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        made = make()
        with self._lock:
            if key not in self._known:
                self._known[key] = made
                self.held += _size(made)
            while self.held > self.most and len(self._known) > 1:
                _, oldest = self._known.popitem(last=False)
                self.held -= _size(oldest)
        return made


def identity(case: Case) -> Hashable:
    """Equal for cases whose inputs are drawn alike."""
    return tuple(
        tuple(sorted(value.items())) if isinstance(value, Mapping) else value for value in vars(case).values()
    )


def _size(made: Any) -> int:
    tensors = made if isinstance(made, tuple) else (made,)
    return 256 + sum(t.untyped_storage().nbytes() for t in tensors if isinstance(t, torch.Tensor))
