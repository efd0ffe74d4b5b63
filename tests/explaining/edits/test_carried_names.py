"""Edits of what a loop changes in place and only one iteration needs."""

from __future__ import annotations

import pytest

from flashlearn.explaining.edits import edits_of

LOOP = """
@triton.jit
def kernel(x_ptr, scales, scale, total, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        {statement}
        x = tl.load(x_ptr + start)
        total += x * scale  # scaled
        x_ptr = x_ptr
    return total * scale
"""


def carried(statement: str) -> list[str]:
    text = LOOP.format(statement=statement).strip()
    return [edit.applied(text) for edit in edits_of(text) if edit.kind.name == "carried over"]


def test_what_is_multiplied_in_every_iteration_gets_a_name_of_its_own_until_the_loop_ends():
    (after,) = carried("scale *= tl.load(scales + start)")
    assert "        scale_of_this_iteration = scale * tl.load(scales + start)\n" in after
    assert "total += x * scale_of_this_iteration  # scaled\n" in after and after.endswith(
        "return total * scale"
    )


def test_a_sum_of_several_terms_is_multiplied_as_a_whole():
    (after,) = carried("scale *= start + 1")
    assert "scale_of_this_iteration = scale * (start + 1)\n" in after


@pytest.mark.parametrize(
    "statement", ["scale *= 2", "scale = scale * start", "total *= start", "scale -= start"]
)
def test_what_is_the_same_in_every_iteration_or_is_changed_elsewhere_too_stays(statement: str):
    assert not carried(statement)
