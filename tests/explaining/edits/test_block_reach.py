"""Edits that put a block's last row in place of the first, or the reverse."""

from __future__ import annotations

import pytest

from flashlearn.explaining.edits import edits_of

KERNEL = """@triton.jit
def kernel(x_ptr, S_q, S_k, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    pid = tl.program_id(0)
    first = pid * BLOCK_Q
    shift = S_k - S_q
    rows = first + tl.arange(0, BLOCK_Q)
    for start in range(0, {end}, BLOCK_K):
        x = tl.load(x_ptr + rows)
"""


@pytest.mark.parametrize(
    ("end", "new"),
    [
        ("first + 1 + S_k - S_q", "first + BLOCK_Q + S_k - S_q"),
        ("first + BLOCK_Q + shift", "first + 1 + shift"),
        ("first + BLOCK_Q - 1 + shift + 1", "first + shift + 1"),
    ],
)
def test_the_last_row_of_a_block_takes_the_place_of_the_first_and_the_first_that_of_the_last(end, new):
    edits = {e.new for e in edits_of(KERNEL.format(end=end)) if e.kind.name == "block reach"}
    assert edits == {new}


@pytest.mark.parametrize("end", ["S_k - S_q + 1", "first + shift", "shift - first + 1", "rows + 1"])
def test_a_sum_without_the_block_s_first_row_or_its_reach_is_left_alone(end):
    assert not [e for e in edits_of(KERNEL.format(end=end)) if e.kind.name == "block reach"]
