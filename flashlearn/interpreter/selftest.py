"""A self-test of the observer's hooks: does this version of triton still let us see everything?"""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl

from flashlearn.interpreter.errors import OutOfBounds
from flashlearn.interpreter.route import observing


@triton.jit
def _copy_and_sum(x_ptr, y_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n, other=0.0)
    tl.store(y_ptr + lanes, x, mask=lanes < n)
    tl.atomic_add(sum_ptr, tl.sum(x.to(tl.float32), axis=0))


@triton.jit
def _out_of_bounds(x_ptr):
    tl.store(x_ptr + 1000, 1.0)


@triton.jit
def _race(x_ptr):
    tl.store(x_ptr, tl.program_id(0).to(tl.float32))


@functools.cache
def run() -> str:
    """Nothing if the hooks work; else one sentence that says which does not. Runs once."""
    try:
        return _bytes_and_values() or _bounds() or _races()
    except Exception as error:
        return (
            f"triton {triton.__version__} does not run in the observer ({type(error).__name__}: {error}); "
            "the versions that the course pins do."
        )


def _bytes_and_values() -> str:
    x = torch.arange(20, dtype=torch.bfloat16)
    total = torch.zeros(1)
    with observing(seed=0) as (session, _):
        y = torch.empty_like(x)
        _copy_and_sum[(2,)](x, y, total, 20, BLOCK=16)
    seen = session.observation()
    if not torch.equal(x, y) or total.item() != 190.0:
        return f"triton {triton.__version__} computes bf16 wrongly in the observer."
    if seen.traffic["x_ptr"].loaded != 40 or seen.traffic["y_ptr"].stored != 40:
        return f"triton {triton.__version__} moved its loads and stores past the observer."
    return ""


def _bounds() -> str:
    x = torch.zeros(4)
    try:
        with observing():
            _out_of_bounds[(1,)](x)
    except OutOfBounds:
        return ""
    return f"triton {triton.__version__} hides out-of-bounds stores from the observer."


def _races() -> str:
    with observing(seed=0) as (session, _):
        _race[(2,)](torch.zeros(1))
    return "" if session.memory.races.found else f"triton {triton.__version__} hides races from the observer."
