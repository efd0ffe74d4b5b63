"""Settings of this process during a check: torch's threads and precision, Python's garbage collector."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

from flashlearn.later import torch

REDUCED = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch to one thread: on tensors as small as a check's, threads only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def ignore_existing_objects() -> Iterator[None]:
    """Exclude existing objects from garbage collection: torch and sympy alone have a million of them.

    New objects are collected as usual. Nothing changes if objects were frozen already.
    """
    if gc.get_freeze_count() or not gc.isenabled():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    """Inside the block fp32 products are no TF32, and sums of half precision's products are kept in fp32."""
    matmul = torch.backends.cuda.matmul
    try:
        tf32, exact = ("allow_tf32", False), matmul.allow_tf32
    except RuntimeError:  # it was set by its newer name, and torch does not mix the two
        tf32, exact = ("fp32_precision", "ieee"), matmul.fp32_precision
    wanted = {tf32[0]: tf32[1], **dict.fromkeys(REDUCED, False)}
    before = {tf32[0]: exact, **{name: getattr(matmul, name) for name in REDUCED}}
    try:
        for name, value in wanted.items():
            setattr(matmul, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(matmul, name, value)
