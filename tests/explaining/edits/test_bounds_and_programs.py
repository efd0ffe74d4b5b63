"""Edits of bounds and of the index at which a program begins."""

from __future__ import annotations

import pytest

from flashlearn.explaining.edits import edits_of

KERNEL = """
@triton.jit
def kernel(a_ptr, M, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    program = tl.program_id(0)
    rows = program + tl.arange(0, BLOCK_M)
    for step in range(tl.cdiv(K, BLOCK_K)):
        inside = tl.arange(0, BLOCK_K) < K
        here = rows < M
"""
LOOPS = """
@triton.jit
def kernel(m, whole, start, end, BLOCK: tl.constexpr):
    for j in range(0, whole, BLOCK):
        m = step(m, j)
    for j in range(start, end, BLOCK):
        m = step(m, j)
    m = scan(m, 0, whole, True)
    m = scan(m, start, end, False)
"""
FORMULA = """
def entry(i, j, a, b):
    value = 1 if j == b else 0
    return value
"""


def made(text: str, kind: str) -> set[str]:
    return {edit.new for edit in edits_of(text.strip()) if edit.kind.name == kind}


def test_a_bound_advances_with_its_loop():
    assert "tl.arange(0, BLOCK_K) < K - step * BLOCK_K" in made(KERNEL, "bound not advanced")


def test_a_bound_advances_by_tiles_or_elements_as_the_loop_counts_them():
    inside = "tl.arange(0, BLOCK_K) < K - step"
    elements = KERNEL.replace("range(tl.cdiv(K, BLOCK_K))", "range(0, K, BLOCK_K)")
    unknown = KERNEL.replace("range(tl.cdiv(K, BLOCK_K))", "range(M)")
    assert inside not in made(KERNEL, "bound not advanced")
    assert inside in (moved := made(elements, "bound not advanced")) and f"{inside} * BLOCK_K" not in moved
    assert {inside, f"{inside} * BLOCK_K"} <= made(unknown, "bound not advanced")


def test_the_bounds_of_two_masks_are_exchanged():
    (edit,) = (e for e in edits_of(KERNEL.strip()) if e.kind.name == "bounds exchanged")
    after = edit.applied(KERNEL.strip())
    assert "tl.arange(0, BLOCK_K) < M\n" in after and after.endswith("here = rows < K")
    assert edit.also == (edit.line + 1,)


def test_a_program_s_number_is_multiplied_by_a_block_or_a_size():
    assert {"(program * BLOCK_M)", "(program * K)"} <= made(KERNEL, "index not scaled")


def test_another_pair_of_indices_is_compared_in_a_formula():
    assert {"a == i", "a == j"} <= made(FORMULA, "name")


def test_a_batch_is_flattened_before_it_is_transposed():
    text = "def dw(x, dy):\n    return x.mT.reshape(x.shape[-1], -1) @ dy"
    assert "x.reshape(-1, x.shape[-1]).T" in made(text, "transpose")


@pytest.mark.parametrize(
    ("division", "down"),
    [
        ("n // B", True),
        ("(n - 1) // B", True),
        ("(n + B) // B", True),
        ("(n + B - 1) // B", False),
        ("(B - 1 + n) // B", False),
        ("(n - 1 + B) // B", False),
        ("(n + 31) // 32", False),
        ("-(-n // B)", False),
        ("(n + 32) // 32", True),
        ("n // 32", True),
    ],
)
def test_only_a_division_that_loses_its_remainder_is_said_to_round_down(division, down):
    text = f"def f(n, B):\n    return {division}\n"
    assert bool(made(text, "round up")) is down


def test_a_loop_begins_where_the_one_before_it_ends():
    starts = {(e.line, e.old, e.new) for e in edits_of(LOOPS.strip()) if e.kind.name == "begins elsewhere"}
    assert starts == {(5, "start", "whole"), (8, "start", "whole")}
    assert made(LOOPS, "ends elsewhere") == {"start"}
    joined = LOOPS.replace("start", "whole")
    assert not made(joined, "begins elsewhere") and not made(joined, "ends elsewhere")


def test_a_number_in_a_product_is_taken_out_where_it_is_written():
    text = "@triton.jit\ndef kernel(x, n, s):\n    twice = 2 * n\n    by_s = n * s\n    x += twice + by_s\n"
    taken = {(e.old, e.new) for e in edits_of(text) if e.kind.name == "redundant factor"}
    assert taken == {("by_s", "(n)"), ("by_s", "(s)"), ("twice", "(2)")}
