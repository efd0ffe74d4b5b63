"""Where a kernel is defined: its file, and the line of its `def`, below the decorators."""

from __future__ import annotations

from typing import Any

from triton.runtime.jit import JITFunction


def place_of_definition(kernel: Any) -> tuple[str, int]:
    """The file of a kernel, which may be wrapped by a tuner, and the line of its `def`.

    Releases of triton have this under several names, or not at all.
    """
    while not isinstance(kernel, JITFunction):
        kernel = kernel.fn
    heads = (i for i, line in enumerate(kernel.raw_src) if line.strip().startswith("def "))
    return kernel.fn.__code__.co_filename, kernel.starting_line_number + next(heads, 0)
