"""Edits that avoid a mistake are never said to be its correction."""

from __future__ import annotations

import pytest

from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.avoidance import (
    avoids,
    chooses_a_tile,
    makes_all_flags_alike,
    stays_inside_alone,
)
from flashlearn.explaining.edits.naturalness import Naturalness, naturalness

TEXT = """@triton.jit
def kernel(q_ptr, k_ptr, o_ptr, n, row, column, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    width = tl.cdiv(n, BLOCK)
    at = pid // width
    far = 1 << 16
    top = -1.0e30
    i = at + tl.arange(0, BLOCK)
    x = walk(q_ptr + i * row + pid * column, False)
    y = tl.where(i < n, x, 1.0)
    for k in range(0, n - 1, BLOCK):
        y += tl.load(k_ptr + k * row)
    tl.store(o_ptr + i, y, mask=i < n)
"""
LAUNCHER = (
    "def f(x):\n    kernel[(2,)](x, x.shape[0], causal=False)\n    return x.sum(dim=0, keepdim=False)\n"
)


def edit(text: str, line: int, old: str, new: str):
    found = [e for e in edits_of(text) if (e.line, e.old, e.new) == (line, old, new) and not e.also]
    assert found, f"no edit puts {new} in the place of {old} in line {line}"
    return found[0]


@pytest.mark.parametrize(
    ("text", "line", "old", "new"),
    [
        (TEXT, 6, "1", "0"),
        (TEXT, 7, "-1.0e30", "0.0"),
        (TEXT, 9, "False", "True"),
        (TEXT, 11, "n - 1", "n + 1"),
        (TEXT, 4, "tl.cdiv(n, BLOCK)", "(tl.cdiv(n, BLOCK) * BLOCK)"),
        (LAUNCHER, 2, "2", "1"),
    ],
)
def test_a_threshold_a_flag_and_a_grid_only_avoid_a_mistake(text, line, old, new):
    assert avoids(text, edit(text, line, old, new))
    assert naturalness(text, edit(text, line, old, new)) is Naturalness.ODD


@pytest.mark.parametrize(
    ("text", "line", "old", "new"),
    [(LAUNCHER, 2, "False", "True"), (LAUNCHER, 3, "False", "True"), (TEXT, 10, "1.0", "0.0")],
)
def test_the_flag_of_a_mask_or_of_a_library_s_function_may_be_the_mistake(text, line, old, new):
    assert not avoids(text, edit(text, line, old, new))


def test_one_index_too_few_in_a_bound_is_a_slip_and_two_more_are_luck():
    assert naturalness(TEXT, edit(TEXT, 11, "1", "0")) is Naturalness.NATURAL
    assert naturalness(TEXT, edit(TEXT, 11, "n - 1", "n + 1")) is Naturalness.ODD


def test_an_access_that_goes_elsewhere_or_nowhere_is_no_repair_of_its_address():
    assert stays_inside_alone(edit(TEXT, 9, "q_ptr", "k_ptr"))
    assert stays_inside_alone(edit(TEXT, 9, "q_ptr + i * row + pid * column", "q_ptr + i * row"))
    assert stays_inside_alone(edit(TEXT, 13, "i < n", "i > n"))
    assert not stays_inside_alone(edit(TEXT, 13, "i < n", "i <= n"))


TILES = """def f(x, n, m):
    wide = 64 if n <= 512 else 32
    rows = max(1, min(8, 1024 // wide))
    block = max(16, triton.next_power_of_2(n - 1))
    kernel[(triton.cdiv(m, rows),)](x, n, WIDE=wide, ROWS=rows, BLOCK=block)
    return x if n <= 3 else 2 * x
"""


@pytest.mark.parametrize(
    ("line", "old", "new"), [(2, "n <= 512", "n > 512"), (3, "1024 // wide", "1024 % wide")]
)
def test_another_choice_among_sizes_of_a_tile_is_told_from_a_tile_that_must_cover_a_dimension(line, old, new):
    assert chooses_a_tile(TILES, edit(TILES, line, old, new))
    assert not chooses_a_tile(TILES, edit(TILES, 4, "1", "0"))
    assert not chooses_a_tile(TILES, edit(TILES, 6, "n <= 3", "n < 3"))


def test_a_larger_limit_of_the_programs_only_avoids_that_a_program_stores_one_block():
    text = "def f(x, n):\n    m = min(triton.cdiv(n, 256), 8)\n    kernel[(m,)](x, n)\n    return x + 256\n"
    assert avoids(text, edit(text, 2, "8", "256"))


def test_without_the_line_that_chooses_the_tiles_others_are_used():
    text = "def f(x):\n    cut = pick(x)\n    cut = Shape(32, 32, 4)\n    return run(x, cut)\n"
    deleted = {e.line: e for e in edits_of(text) if e.kind.name == "redundant statement"}
    assert avoids(text, deleted[3]) and not any(avoids(text, e) for n, e in deleted.items() if n != 3)


def test_a_mask_in_both_parts_of_a_loop_makes_up_for_any_bound_between_them():
    parts = """@triton.jit
def f(x, whole, end):
    x = walk(x, 0, whole, False)
    return walk(x, whole, end, {})
"""
    both, none = parts.format("True"), parts.format("False")
    assert makes_all_flags_alike(both, edit(both, 3, "False", "True"))
    assert not makes_all_flags_alike(none, edit(none, 4, "False", "True"))
