"""Of elements that no program writes it is told what the grid has to do with it, in counts."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from flashlearn.explaining.findings.missing_programs import GRID, GRID_OR_SHARE, IDLE, missing_programs
from flashlearn.explaining.findings.some_programs import _which
from flashlearn.explaining.findings.stores_under_conditions import condition_of_stores
from flashlearn.observation import Launch


def launch(*grid: int, block: int = 16) -> Launch:
    return Launch(None, "kernel", (*grid, *[1] * (3 - len(grid))), {}, {"BLOCK": block}, {})


def test_a_grid_that_is_rounded_down_is_told_with_the_number_of_programs_that_are_needed():
    writers = torch.full((37, 4), -1)
    writers[:16], writers[16:32] = 0, 1
    one = Launch(kernel_of("tl.store(y_ptr + rows, x)"), "kernel", (2, 1, 1), {}, {"BLOCK": 16}, {})
    said, step = missing_programs("y", writers, [one])
    assert said == (
        "The grid has 2 programs along axis 0, each of which stores 16 of the 37 indices of dimension 0 of "
        "y: with blocks of 16, 3 are needed."
    )
    assert step == GRID


def test_blocks_are_not_counted_where_a_program_stores_several_or_the_grid_counts_others():
    writers = torch.full((37, 4), -1)
    writers[:16], writers[16:32] = 0, 1
    loop = kernel_of("for rows in range(0, n, 32):", "    tl.store(y_ptr + rows, x)")
    of_32 = kernel_of("tl.store(y_ptr + rows, x)")
    for kernel, tiles in ((loop, {"BLOCK": 16}), (of_32, {"BLOCK": 16, "ROWS": 32})):
        said, step = missing_programs("y", writers, [Launch(kernel, "kernel", (2, 1, 1), {}, tiles, {})])
        assert said.endswith("that makes 32.")
        assert step == GRID_OR_SHARE


def test_a_share_that_is_no_block_is_not_blamed_on_the_grid_alone():
    writers = torch.full((10,), -1)
    writers[:9] = torch.arange(9) // 3
    said, step = missing_programs("y", writers, [launch(3)])
    assert said.endswith("each of which stores 3 of the 10 indices of y: that makes 9.")
    assert step == GRID_OR_SHARE


def test_programs_that_store_nothing_are_counted():
    writers = torch.full((32,), -1)
    writers[16:] = 1
    assert missing_programs("y", writers, [launch(2)]) == (
        "1 of the 2 programs of the grid wrote nothing to y.",
        IDLE,
    )


def test_nothing_is_said_of_gaps_inside_a_block_or_of_several_launches():
    writers = torch.zeros(32, dtype=torch.long)
    writers[3] = -1
    assert missing_programs("y", writers, [launch(1)]) == ("", "")
    assert missing_programs("y", writers, [launch(1), launch(1)]) == ("", "")


def kernel_of(*lines: str) -> SimpleNamespace:
    return SimpleNamespace(
        raw_src=["@triton.jit\n", "def kernel(y_ptr, n, BLOCK):\n", *(f"    {x}\n" for x in lines)]
    )


def conditions(*lines: str) -> str:
    signature = {"y_ptr": "*fp32", "n": "i32"}
    return condition_of_stores(
        "y", Launch(kernel_of(*lines), "kernel", (2, 1, 1), signature, {"BLOCK": 16}, {})
    )


def test_a_condition_of_all_stores_is_asked_about():
    guarded = ("if end > 0:", "    tl.store(y_ptr + rows, x)")
    assert conditions(*guarded) == "end > 0"
    assert conditions("if BLOCK > 8:", "    tl.store(y_ptr + rows, x)") == ""
    assert conditions(*guarded, "tl.store(y_ptr + rows, 0)") == ""
    assert conditions(*guarded, "tl.store(rows, 0)") == ""
    assert conditions("if end > 0:", "    pass", "else:", "    tl.store(y_ptr, x)") == "not end > 0"
    writers = torch.full((32,), -1)
    writers[16:] = 1
    one = Launch(kernel_of(*guarded), "kernel", (2, 1, 1), {"y_ptr": "*fp32"}, {"BLOCK": 16}, {})
    assert "only where `end > 0`" in missing_programs("y", writers, [one])[1]


def test_wrong_programs_are_told_by_what_their_ids_have_in_common():
    assert _which(range(8), [0, 1], (4, 2, 1)) == "those with number 0 along axis 0 of the grid"
    assert _which(range(8), [0, 2, 4, 6], (4, 2, 1)) == "those with number 0 along axis 1 of the grid"
    assert _which(range(4), [1, 2], (4, 1, 1)) == "(1, 0, 0) and (2, 0, 0)"
    assert _which(range(9), [1, 2, 3, 5, 7], (9, 1, 1)) == "(1, 0, 0), (2, 0, 0), (3, 0, 0), (5, 0, 0), …"
