"""Who holds an element, as the compiler has it, and in which banks a swizzled tile lies."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from flashlearn.kernels.gluon.parts import accumulator, operand_a
from flashlearn.lessons.lesson_13_hopper import layout_pictures, layouts, written

BLOCKED = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
SHAPE = (32, 64)


def test_a_blocked_layout_is_what_its_four_lists_say():
    for row, column in itertools.product(range(32), range(64)):
        warp, lane, register = layouts.owner(BLOCKED, SHAPE, (row, column))
        assert warp == row % 16 // 4 and lane == row % 4 * 8 + column % 32 // 4 and register % 4 == column % 4
    assert layouts.owner(BLOCKED, SHAPE, (5, 17)) == (1, 12, 1)


def test_the_owner_of_every_element_is_among_its_holders():
    found = layouts.owners(BLOCKED, SHAPE)
    for element in ((0, 0), (5, 17), (31, 63)):
        assert tuple(found[element]) in layouts.holders(BLOCKED, SHAPE, element)


@gluon.jit
def thread_of_each(y_ptr, layout: gl.constexpr):
    rows = gl.arange(0, 32, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    at = rows[:, None] * 64 + columns[None, :]
    gl.store(y_ptr + at, at)


def test_the_compiler_stores_what_a_thread_holds_at_the_same_addresses():
    y = torch.zeros(2048, dtype=torch.int32)
    ptx = written.ptx_of(lambda: thread_of_each[(1,)](y, BLOCKED, num_warps=4))
    # 16 registers of a thread in runs of four numbers: four stores of 16 bytes
    assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == 4
    at = layouts.threads(BLOCKED, SHAPE)[1, 12] @ np.array([64, 1])
    assert len(at) == 16 and all(np.diff(at.reshape(4, 4)).ravel() == 1)


@gluon.jit
def row_sums(x_ptr, y_ptr, layout: gl.constexpr):
    rows = gl.arange(0, 128, layout=gl.SliceLayout(1, layout))
    columns = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    gl.store(y_ptr + rows, gl.sum(gl.load(x_ptr + rows[:, None] * 64 + columns[None, :]), axis=1))


def test_where_a_thread_holds_whole_rows_no_lane_exchanges():
    x, y = torch.zeros(128, 64), torch.zeros(128)
    for layout, some in ((BLOCKED, True), (gl.BlockedLayout([1, 64], [32, 1], [4, 1], [1, 0]), False)):
        ptx = written.ptx_of(lambda layout=layout: row_sums[(1,)](x, y, layout, num_warps=4))
        assert (sum(written.count(ptx, "shfl", "st.shared").values()) > 0) == some


def test_a_row_s_sum_is_held_by_all_lanes_that_held_the_row():
    holders = layouts.holders(gl.SliceLayout(1, BLOCKED), (32,), (5,))
    assert {(one.warp, one.lane) for one in holders} == {(1, lane) for lane in range(8, 16)}


def test_an_accumulator_is_a_left_operand_already_in_16_bits():
    found = layouts.moved(accumulator(64), operand_a(accumulator(64)), (64, 64))
    assert found["stay in their thread"] == 1
    assert layouts.moved(BLOCKED, accumulator(64), (64, 64))["go to another warp"] > 0.5


@pytest.mark.parametrize(("width", "turns"), [(0, 8), (128, 1)])
def test_a_swizzle_of_128_bytes_has_no_conflicts_in_a_column(width, turns):
    shared = gl.NVMMASharedLayout(swizzle_byte_width=width, element_bitwidth=16, rank=2)
    at = layouts.offsets(shared, (64, 64))
    assert sorted(at.ravel()) == list(range(at.size))
    column = [int(at[row, 0]) * 2 for row in range(8)]
    assert layouts.turns(column, 16) == turns


def test_a_swizzle_of_64_bytes_has_conflicts_in_a_row():
    at = 2 * layouts.offsets(gl.NVMMASharedLayout(64, 16, rank=2), (64, 64))
    assert layouts.turns(at[:8, 0].tolist(), 16) == 1 and layouts.turns(at[0, ::8].tolist(), 16) == 2


def test_a_row_s_number_stays_in_its_threads_between_two_accumulators_and_eight_bits_differ():
    one, other = (gl.SliceLayout(1, accumulator(columns)) for columns in (128, 64))
    assert layouts.moved(one, other, (64,))["stay in their thread"] == 1
    product = gl.NVMMADistributedLayout(version=[3, 0], warps_per_cta=[4, 1], instr_shape=[16, 64, 32])
    assert layouts.moved(product, gl.DotOperandLayout(0, product, 4), (64, 64))["stay in their thread"] < 1


def test_pictures_say_who_holds_the_element_and_how_many_turns_a_column_takes():
    picture = layout_pictures.held(BLOCKED, SHAPE, mark=(5, 17))
    assert "register 1 of lane 12 of warp 1" in picture.description and picture.png()
    plain, swizzled = (gl.NVMMASharedLayout(width, 16, rank=2) for width in (0, 128))
    picture = layout_pictures.swizzles({"plain": plain, "swizzled": swizzled}, (64, 64))
    assert "plain: 8; swizzled: 1" in picture.description and picture.png()


@pytest.mark.skipif(not layouts.asks_the_compiler(), reason="this Triton cannot be asked for such layouts")
@pytest.mark.parametrize(
    ("width", "shape"), [(0, (64, 64)), (32, (64, 16)), (64, (64, 32)), (128, (64, 64)), (128, (64, 128))]
)
def test_the_rule_for_an_older_triton_is_what_the_compiler_says(width, shape):
    layout = gl.NVMMASharedLayout(swizzle_byte_width=width, element_bitwidth=16, rank=2)
    assert (layouts.offsets(layout, shape) == layouts._by_the_rule(layout, shape)).all()
