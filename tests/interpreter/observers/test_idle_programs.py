"""Programs that store nothing are counted, by kernel."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from flashlearn.interpreter.observers.idle_programs import IdlePrograms
from flashlearn.interpreter.route import observing


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n, other=0.0), mask=i < n)


def test_a_grid_that_is_too_large_has_programs_that_write_nothing():
    x, counter = torch.ones(40), IdlePrograms()
    with observing(observers=(counter,)):
        copy_kernel[(5,)](x, torch.empty(40), 40, BLOCK=16)
        copy_kernel[(3,)](x, torch.empty(40), 40, BLOCK=16)
    assert counter.observation() == {"copy_kernel": (2, 8)}
