"""Edits of how programs share the work, and of the maximum that a loop carries along."""

from __future__ import annotations

import pytest

from flashlearn.explaining.edits import edits_of

KERNEL = """@triton.jit
def kernel(x_ptr, y_ptr, n, share, row, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    part = tl.program_id(1)
    step = tl.num_programs(0)
    for block in range(0, n, step):
        tl.store(y_ptr + block, 0.0)
    for start in range(part * share, n, BLOCK):
        tl.store(y_ptr + start, 0.0)
    first = pid // GROUP * GROUP
    tiles = tl.cdiv(n, BLOCK)
    height = tiles - first
    lanes = tl.arange(0, BLOCK)
    safe = tl.minimum(lanes, n - 1)
    top = tl.full((1,), float("-inf"), tl.float32)
    for at in range(0, n, BLOCK):
        x = tl.load(x_ptr + row + lanes)
        new = top
        p = tl.exp(x - new)
        top = new
    tl.store(y_ptr + (lanes + BLOCK - 1) // BLOCK, tl.sum(p, axis=0))
"""


@pytest.mark.parametrize(
    ("kind", "line", "new"),
    [
        ("shared start", 6, "tl.program_id(0)"),
        ("share end", 8, "tl.minimum(n, (part + 1) * share)"),
        ("last group", 12, "min(tiles - first, GROUP)"),
        ("missing index", 17, "pid * row"),
        ("maximum not updated", 18, "tl.maximum(top, tl.max(x, axis=0))"),
        ("round down", 21, "lanes // BLOCK"),
    ],
)
def test_an_edit_is_proposed_in_its_line(kind, line, new):
    assert new in [edit.new for edit in edits_of(KERNEL) if edit.kind.name == kind and edit.line == line]


def test_a_copy_of_the_old_maximum_is_not_taken_for_the_new_one():
    swapped = KERNEL.replace("        p = tl.exp(x - new)\n", "")
    lines = [edit.line for edit in edits_of(swapped) if edit.kind.name == "maximum not updated"]
    assert lines and set(lines) == {19}, "`new = top` is followed by `top = new`: the second is to be changed"


def test_lanes_that_a_clamp_sends_to_the_last_element_are_masked():
    masks = [edit.new for edit in edits_of(KERNEL) if edit.kind.name == "missing mask"]
    assert any("mask=(lanes < n)" in mask for mask in masks)
