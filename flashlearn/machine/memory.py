"""Memory of a GPU: what is free, what ran out of it, and large computations in parts that fit everywhere.

    >>> [(s.start, s.stop) for s in spans(32, 2**28)]          # 32 entries of 2²³ elements each
    [(0, 4), (4, 8), (8, 12), ..., (28, 32)]

Parts have the same sizes on every machine, so that results do not depend on how much memory there is.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from flashlearn.later import torch, types_of
from flashlearn.machine.device import GIB, MIB

PART_ELEMENTS = 1 << 25
"""Elements of the largest intermediate of one part: 256 MiB in fp64, of which a reference holds about six."""


def spans(count: int, elements: int) -> list[slice]:
    """Consecutive slices of `count` entries that have `elements` intermediate elements together."""
    each = max(elements // max(count, 1), 1)
    step = max(PART_ELEMENTS // each, 1)
    return [slice(start, min(start + step, count)) for start in range(0, count, step)] or [slice(0, count)]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a GPU's memory did not suffice, as torch, triton or a library of NVIDIA's says it."""
    if isinstance(error, types_of("torch", "OutOfMemoryError")):
        return True
    text = str(error) if isinstance(error, RuntimeError) else ""
    return ("CUDA" in text and "out of memory" in text) or "_STATUS_ALLOC_FAILED" in text


def free_memory() -> int:
    """Bytes that this process can still take on the GPU, what torch holds in reserve included."""
    free, total = torch.cuda.mem_get_info()
    held = torch.cuda.memory_allocated()
    free += torch.cuda.memory_reserved() - held
    limited = getattr(torch.cuda, "get_per_process_memory_fraction", None)
    return int(min(free, limited() * total - held)) if limited is not None else free


def release() -> None:
    """Collect what nobody refers to, and give torch's reserve of the GPU's memory back."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def attempt(work: Callable[[], Any]) -> tuple[Any, bool]:
    """What `work()` returns, and whether there was memory for it: it is called once more after a release."""
    for last in (False, True):
        try:
            return work(), True
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
        release()  # after the exception is gone, and with it the frames that hold tensors
        if last:
            break
    return None, False


def in_gib(count: float) -> str:
    """«2.5 GiB»; below one GiB «300 MiB»."""
    return f"{count / GIB:.3g} GiB" if count >= GIB else f"{max(count, 0) / MIB:.0f} MiB"
