"""The lesson's three exercises as one: rotate, quantise by block, attend; and where that can run.

>>> given = prepared(q, k, v, signs, hadamard_rotate, quantize_blocks, centred=True)
>>> with launches(place()):
...     o, lse = fp8_forward(**given, causal=True, alpha=0.125)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager

import torch
from torch import Tensor

from flashlearn.interpreter.route import observing
from flashlearn.kernels.fp8_forward import SCALED_ROWS
from flashlearn.lessons.lesson_14_low_precision.measured import FIRST_WITH_E4M3


def prepared(
    q: Tensor, k: Tensor, v: Tensor, signs: Tensor | None, rotate: Callable, quantize: Callable,
    centred: bool = False,
) -> dict[str, Tensor]:  # fmt: skip
    """q, k, v [B, H, S, D] in e4m3 and their scales, by the names of fp8_forward's arguments."""
    if centred:
        k = k - k.mean(2, keepdim=True)  # the same row for all keys of a head
    given = {}
    for name, x in (("q", q), ("k", k), ("v", v)):
        B, H, S, D = x.shape
        if S % SCALED_ROWS:
            raise ValueError(f"{name} has {S} rows: expected a multiple of {SCALED_ROWS}")
        rows = x.reshape(-1, D)  # a block of 128 rows belongs to one head
        if signs is not None and name != "v":
            rows = rotate(rows, signs)
        values, scales = quantize(rows, SCALED_ROWS, D)
        given |= {name: values.view(B, H, S, D), f"{name}_scale": scales.view(B, H, -1)}
    return given


def place() -> str:
    """ "cuda" where the GPU multiplies eight bits, else "cpu", where kernels are observed."""
    has = torch.cuda.is_available() and torch.cuda.get_device_capability() >= FIRST_WITH_E4M3
    return "cuda" if has else "cpu"


def launches(where: str) -> AbstractContextManager[object]:
    """What launches on `where` need: on the CPU the interpreter."""
    return observing() if where == "cpu" else contextlib.nullcontext()
