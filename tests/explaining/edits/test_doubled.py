"""Edits of strides that are given twice, of a tile masked along one axis, and of what they stand beside."""

from __future__ import annotations

from flashlearn.explaining.edits import edits_of

LAUNCHER = """def backward(k, v):
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    kernel[(4,)](k, v, dk, dv, *k.stride(), *v.stride(), *dk.stride(), *dk.stride())
    return dk, dv
"""

KERNEL = """@triton.jit
def kernel(x_ptr, lse_ptr, y_ptr, S_q, S_k, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + rows[:, None] * S_k + cols[None, :], mask=(cols < S_k)[None, :], other=0.0)
    lse = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)
    s = tl.where((rows < S_q)[:, None], x, -float("inf"))
    shift = tl.maximum(S_k - S_q, 0)
    p = tl.exp(s - lse[:, None]) + shift
    tl.store(y_ptr + rows, p)
"""


def proposed(text: str, kind: str) -> list[str]:
    return [edit.new for edit in edits_of(text) if edit.kind.name == kind]


def test_strides_that_are_given_twice_become_those_of_the_tensor_that_has_none():
    assert proposed(LAUNCHER, "strides given twice")[0] == "*dk.stride(), *dv.stride()"
    own = LAUNCHER.replace("*dk.stride(), *dk.stride()", "*dk.stride(), *dv.stride()")
    assert proposed(own, "strides given twice") == []


def test_a_tile_masked_along_one_axis_is_masked_along_the_other_too():
    assert "(rows < S_q)[:, None] & (cols < S_k)[None, :]" in proposed(KERNEL, "partial condition")


def test_a_difference_of_lengths_may_be_negative():
    assert proposed(KERNEL, "clamped difference") == ["S_k - S_q"]


def test_what_an_exponent_subtracts_may_be_infinite_in_lanes_that_do_not_exist():
    infinite = [e for e in edits_of(KERNEL) if e.kind.name == "fill value" and e.new == 'float("inf")']
    assert [e.line for e in infinite] == [6]
