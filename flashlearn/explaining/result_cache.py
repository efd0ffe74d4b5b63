"""Results that the next check will need again, up to a number of bytes; the oldest go first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import torch

from flashlearn.exercise import Case


class ResultCache:
    """Tuples of tensors (or None) by key, at most `max_bytes` bytes of them."""

    def __init__(self, max_bytes: int):
        self.max_bytes = max_bytes
        self.bytes_held = 0
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What is known under the key; else what `make` gives, which is remembered."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        value = make()
        with self._lock:
            if key not in self._results:
                self._results[key] = value
                self.bytes_held += _size(value)
            while self.bytes_held > self.max_bytes and len(self._results) > 1:
                _, oldest = self._results.popitem(last=False)
                self.bytes_held -= _size(oldest)
        return value


def case_key(case: Case) -> Hashable:
    """Equal for cases whose inputs are drawn alike."""
    return tuple(
        tuple(sorted(value.items())) if isinstance(value, Mapping) else value for value in vars(case).values()
    )


def _size(value: Any) -> int:
    tensors = value if isinstance(value, tuple) else (value,)
    return 256 + sum(t.untyped_storage().nbytes() for t in tensors if isinstance(t, torch.Tensor))
