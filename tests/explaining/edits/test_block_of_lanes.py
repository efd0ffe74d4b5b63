"""A number that stands before the lanes of one block is multiplied by this block, and by no other."""

from __future__ import annotations

import pytest

from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.naturalness import Naturalness, naturalness

KERNEL = """@triton.jit
def kernel(x_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid = tl.program_id(0)
    m, n = pid // 4, pid % 4
    first = n * BLOCK_N
    cols = {start} + tl.arange(0, BLOCK_N)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        x = tl.load(x_ptr + cols, mask=tl.arange(0, BLOCK_K) < K - k)
"""


def put(text: str, kind: str = "block of lanes") -> set[tuple[str, str]]:
    return {(edit.old, edit.new) for edit in edits_of(text) if edit.kind.name == kind}


def test_the_block_of_the_lanes_takes_the_place_of_another_one_or_the_reverse():
    assert put(KERNEL.format(start="n * BLOCK_M")) == {("BLOCK_M", "BLOCK_N"), ("BLOCK_N", "BLOCK_M")}
    assert ("BLOCK_N", "BLOCK_M") in put(KERNEL.replace("n * BLOCK_N", "n * BLOCK_M").format(start="first"))


def test_a_number_that_is_multiplied_by_the_block_elsewhere_is_so_here():
    assert put(KERNEL.format(start="n")) == {("n", "n * BLOCK_N")}
    assert not put(KERNEL.format(start="m"))


@pytest.mark.parametrize("start", ["n * BLOCK_N", "first", "K"])
def test_what_fits_the_lanes_is_left_alone(start):
    assert not put(KERNEL.format(start=start))


def test_a_loop_over_tiles_of_one_block_is_scaled_by_no_other():
    assert put(KERNEL, "tiles to elements") >= {("k", "(k * BLOCK_K)")}
    assert not any("BLOCK_N" in new for old, new in put(KERNEL, "tiles to elements") if old == "k")


def test_a_block_that_the_line_does_not_have_may_merely_be_as_large():
    text = KERNEL.format(start="pid")
    levels = {e.new: naturalness(text, e) for e in edits_of(text) if e.old == "pid" and e.line == 6}
    assert levels["(pid * BLOCK_M)"] is Naturalness.UNUSUAL
    assert levels["(pid * BLOCK_N)"] is Naturalness.NATURAL


@pytest.mark.parametrize(
    ("loop", "new"),
    [
        ("for k in range(0, K, BLOCK_K)", {"k + tl.arange(0, BLOCK_K)"}),
        ("for k in range(0, tl.cdiv(K, BLOCK_K))", {"k * BLOCK_K + tl.arange(0, BLOCK_K)"}),
        ("for k in range(0, K, BLOCK_K * 1)", {"k + tl.arange(0, BLOCK_K)"}),
        ("for k in range(K)", set()),
    ],
)
def test_lanes_that_every_step_begins_anew_lack_the_loop_s_number(loop, new):
    text = f"@triton.jit\ndef f(x_ptr, K, BLOCK_K: tl.constexpr):\n    {loop}:\n"
    text += "        at = tl.arange(0, BLOCK_K)\n        x = tl.load(x_ptr + at, mask={mask})\n"
    assert {after for _, after in put(text.format(mask="at < K"))} == new
    assert not put(text.format(mask="at < K - k"))
