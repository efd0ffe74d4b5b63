"""What `kernel[grid](…)` gives back: on a GPU the compiled kernel, here something that says so."""

from __future__ import annotations

from typing import Any

from flashlearn.interpreter.errors import NeedsGpu

KNOWN = frozenset(
    {"asm", "function", "kernel", "metadata", "module", "n_max_threads", "n_regs", "n_spills", "hash", "name"}
    | {"run", "shared", "src", "launch_metadata", "packed_metadata", "_init_handles"}
)
"""What a compiled kernel of triton's has."""


class LaunchResult:
    """Stands for the compiled kernel of a launch that ran interpreted.

    Raises NeedsGpu for what only a compiled kernel has.
    """

    def __init__(self, kernel: Any):
        self._kernel = kernel

    def __getattr__(self, name: str) -> Any:
        if name in KNOWN:
            raise NeedsGpu(
                f"`.{name}` belongs to a compiled kernel, and this launch ran interpreted: it needs a GPU. A "
                "check shows registers, spills and shared memory anyway, beside its verdict."
            )
        raise AttributeError(f"a compiled kernel has no {name}")

    def __getitem__(self, grid: Any) -> Any:
        return self._kernel[grid]

    def __repr__(self) -> str:
        return f"<a launch of {getattr(self._kernel, '__name__', 'a kernel')}, interpreted>"
