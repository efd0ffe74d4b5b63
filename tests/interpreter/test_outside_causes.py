"""An access out of bounds is explained by its own text: which index, stride or condition is wrong."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.interpreter.errors import OutOfBounds
from flashlearn.interpreter.route import observing


@triton.jit
def tile_copy(x_ptr, y_ptr, M, N, x_row, x_col, other_row, KIND: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (r < M)[:, None] & (c < N)[None, :]
    at = x_ptr + r[:, None] * x_row + c[None, :] * x_col
    if KIND == "rows alone":
        x = tl.load(at, mask=(r < M)[:, None], other=0.0)
    elif KIND == "neither":
        x = tl.load(at, mask=(r >= 0)[:, None] & (tl.program_id(0) >= 0), other=0.0)
    elif KIND == "at most":
        wide = (r <= M)[:, None] & (c < N)[None, :]
        x = tl.load(at, mask=wide, other=0.0)
    elif KIND == "bound":
        x = tl.load(at, mask=(r < N)[:, None] & (c < N)[None, :], other=0.0)
    elif KIND == "precedence":
        x = tl.load(at, mask=(r[:, None] < M) & c[None, :] < N, other=0.0)
    elif KIND == "stride":
        x = tl.load(x_ptr + r[:, None] * other_row + c[None, :] * x_col, mask=inside, other=0.0)
    elif KIND == "no mask":
        x = tl.load(at)
    else:
        x = tl.load(at, mask=inside, other=0.0)
    tl.store(y_ptr + r[:, None] * N + c[None, :], x, mask=inside)


@triton.jit
def lanes_in_the_mask(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    start = tl.program_id(0) * BLOCK
    tl.store(y_ptr + start + lanes, tl.load(x_ptr + start + lanes, mask=lanes < n), mask=start + lanes < n)


@triton.jit
def moved_pointer(x_ptr, y_ptr, M, N, x_row, step, BLOCK: tl.constexpr):
    r, c = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    at = x_ptr + r[:, None] * x_row + c[None, :]
    for done in range(0, N, BLOCK):
        x = tl.load(at, mask=(r < M)[:, None] & (c < N - done)[None, :], other=0.0)
        at += step * BLOCK
        tl.store(y_ptr + r, tl.sum(x, axis=1), mask=r < M)


@triton.jit
def heads(x_ptr, y_ptr, H, S, b_stride, h_stride, KIND: tl.constexpr, BLOCK: tl.constexpr):
    bh = tl.program_id(0)
    b = (bh + H - 1) // H
    h = bh % H
    if KIND == "axis":
        b = tl.program_id(1)
    s = tl.arange(0, BLOCK)
    if KIND == "shared":
        x = tl.load(x_ptr + bh // H * b_stride + h * b_stride + s, mask=s < S, other=0.0)
    else:
        x = tl.load(x_ptr + b * b_stride + h * h_stride + s, mask=s < S, other=0.0)
    tl.store(y_ptr + bh * S + s, x, mask=s < S)


@triton.jit
def offsets_shared(x_ptr, y_ptr, N, row, col, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    offsets = tl.program_id(0) * row + c * col
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=c < N), mask=c < N)


def stray(launch) -> OutOfBounds:
    with pytest.raises(OutOfBounds) as caught, observing():
        launch()
    return caught.value


@pytest.mark.parametrize(
    ("kind", "key", "said"),
    [
        ("rows alone", "untested", "The mask does not test `c`, index 1 of x_ptr."),
        ("at most", "comparison", "`r <= M` (line 25), which lets index 20 through, the size itself."),
        (
            "bound",
            "bound",
            "40 is the size of dimension 1 of x_ptr; the address multiplies `r` by `x_row`",
        ),
        ("precedence", "precedence", "`&` binds more tightly than a comparison"),
        ("stride", "stride", "multiplies `r` by `other_row`, for which the launcher passes 47"),
        ("no mask", "no mask", "Nothing keeps `r`, index 0 of x_ptr,"),
    ],
)
def test_the_condition_the_bound_or_the_stride_that_is_wrong_is_named(kind, key, said):
    x, y = torch.zeros(20, 40), torch.zeros(20, 40)
    error = stray(lambda: tile_copy[(2, 2)](x, y, 20, 40, 40, 1, 47, KIND=kind, BLOCK=32))
    assert error.fault[-1] == ("cause", key)
    assert said in error.sentence


def test_two_indices_without_an_upper_bound_are_not_called_untested_where_a_condition_tests_one():
    x, y = torch.zeros(20, 40), torch.zeros(20, 40)
    error = stray(lambda: tile_copy[(2, 2)](x, y, 20, 40, 40, 1, 47, KIND="neither", BLOCK=32))
    assert "neither `r`" not in error.sentence


def test_lanes_tested_in_place_of_the_whole_index_are_told_with_the_line_of_the_condition():
    x, y = torch.zeros(100), torch.zeros(100)
    error = stray(lambda: lanes_in_the_mask[(4,)](x, y, 100, BLOCK=32))
    assert error.fault[-1] == ("cause", "other index")
    assert "The mask tests `lanes`" in error.sentence
    assert "but the address has `start + lanes`" in error.sentence


def test_a_lane_that_is_tested_and_multiplied_by_a_stride_is_no_other_index():
    x, y = torch.zeros(1, 24), torch.zeros(1, 48)[:, ::2]
    error = stray(lambda: offsets_shared[(1,)](x, y, 24, 48, 2, BLOCK=32))
    assert "but the address has" not in error.sentence


def test_a_pointer_moved_along_the_wrong_dimension_is_told_with_its_index():
    x, y = torch.zeros(20, 40), torch.zeros(20)
    error = stray(lambda: moved_pointer[(1,)](x, y, 20, 40, 40, 40, BLOCK=32))
    assert "the loop also moves the pointer along index 0 of x_ptr." in error.sentence


@pytest.mark.parametrize(
    ("kind", "key", "said"),
    [
        ("ceil", "number", "`b`, index 0 of x_ptr, is 2 here: line 60 computes it as `(bh + H - 1) // H`"),
        ("axis", "axis", "the grid has 3 programs along axis 1"),
        ("shared", "shared stride", "dimension 0 alone; dimension 1 gets no index"),
    ],
)
def test_an_index_that_all_lanes_share_is_followed_to_where_it_is_computed(kind, key, said):
    x, y = torch.zeros(2, 3, 20), torch.zeros(6, 20)
    grid = (6, 3) if kind == "axis" else (6,)
    grid = (2, 3) if kind == "axis" else grid
    error = stray(lambda: heads[grid](x, y, 3, 20, 60, 20, KIND=kind, BLOCK=32))
    assert error.fault[-1] == ("cause", key)
    assert said in error.sentence


@triton.jit
def one_index_without_a_stride(x_ptr, y_ptr, M, N, x_col, BLOCK: tl.constexpr):
    i, j = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.sum(tl.load(x_ptr + i + j * x_col, mask=j < N, other=0.0), axis=0))


def test_an_index_without_its_stride_is_not_told_as_a_mask_that_tests_another_index():
    x, y = torch.zeros(4, 48)[:, :40], torch.zeros(4)
    error = stray(lambda: one_index_without_a_stride[(4,)](x, y, 4, 40, 1, BLOCK=64))
    assert error.fault[-1] == ("cause", "shared stride")
    assert "`i` is added without a stride, `j` times `x_col`" in error.sentence
    assert "mask tests" not in error.sentence


@triton.jit
def one_number_per_row(x_ptr, y_ptr, stride_row, N, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride_row + j, mask=j < N, other=0.0)
    tl.store(y_ptr + i * stride_row, tl.sum(x, axis=0))


def test_an_argument_is_not_called_the_index_where_the_programs_number_is_1():
    x, y = torch.ones(5, 16), torch.zeros(5)
    error = stray(lambda: one_number_per_row[(5,)](x, y, x.stride(0), 16, BLOCK=16))
    assert "writes y_ptr[16]" in error.sentence and "`stride_row`, the index" not in error.sentence


@triton.jit
def one_number_per_block(y_ptr, M, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.program_id(0) * tl.cdiv(M, BLOCK) + tl.program_id(1), 1.0)


def test_a_count_of_blocks_is_not_called_the_index_where_the_programs_number_is_1():
    y = torch.zeros(4, 1)
    error = stray(lambda: one_number_per_block[(4, 1)](y, 64, BLOCK=16))
    assert (
        "writes a place 1 element past the end of y_ptr, which has shape (4, 1)" in error.sentence
        and "cdiv(M, BLOCK)`, index" not in error.sentence
    )


@triton.jit
def other_strides_twice(x_ptr, y_ptr, M, N, other_row, BLOCK: tl.constexpr):
    r, c = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    tile = r[:, None] * other_row + c[None, :] * 2
    for first in range(0, M, BLOCK):
        x = tl.load(
            x_ptr + first * other_row + tile, mask=(first + r < M)[:, None] & (c < N)[None, :], other=0.0
        )
        tl.store(y_ptr + c, tl.sum(x, axis=0), mask=c < N)


def test_a_product_that_is_0_where_it_stops_is_not_the_cause():
    x, y = torch.zeros(20, 16), torch.zeros(16)
    error = stray(lambda: other_strides_twice[(1,)](x, y, 20, 16, 32, BLOCK=32))
    assert "1 element past the end of x_ptr" in error.sentence and "multiplies" not in error.sentence


@triton.jit
def one_per_query(y_ptr, S, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + tl.program_id(1) * S + rows, rows.to(tl.float32))


def test_where_two_dimensions_have_one_stride_an_access_is_told_by_its_distance_not_by_an_index():
    y = torch.zeros(3, 2, 1)  # [B, H, S] with one query: heads and queries lie one element apart
    error = stray(lambda: one_per_query[(1, 6)](y, 1, BLOCK=8))
    assert "writes a place 1 element past the end of y_ptr, which has shape (3, 2, 1)" in error.sentence
    assert "index 1" not in error.sentence and "index 2" not in error.sentence


@triton.jit
def rows_of_one_dimension(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    rows, d = tl.arange(0, BLOCK), tl.arange(0, 4)
    x = tl.load(x_ptr + rows[:, None] * 4 + d[None, :])
    tl.store(y_ptr + rows, tl.sum(x, axis=1), mask=rows < n)


def test_rows_that_are_one_dimension_of_the_tensor_are_no_other_strides():
    x, y = torch.zeros(2, 24), torch.zeros(16)  # each row holds six of four
    error = stray(lambda: rows_of_one_dimension[(1,)](x, y, 12, BLOCK=16))
    assert "past the end of x_ptr" in error.sentence or "x_ptr[" in error.sentence
    assert "Neighbouring lanes" not in error.sentence and "multiplies" not in error.sentence


@triton.jit
def masked_before_the_loop(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    there = lane < n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        column = (start + lane).to(tl.int64)
        total += tl.load(x_ptr + column, mask=there, other=0.0)
    tl.store(y_ptr, tl.sum(total, axis=0))


def test_a_mask_of_lanes_beside_an_index_that_has_a_name_of_its_own_is_told():
    error = stray(lambda: masked_before_the_loop[(1,)](torch.ones(50), torch.zeros(1), 50, BLOCK=32))
    assert error.fault[-1] == ("cause", "other index")
    assert "The mask tests `lane`" in error.sentence
    assert "has `column`, which line" in error.sentence and "as `(start + lane)" in error.sentence


@triton.jit
def either_condition(x_ptr, y_ptr, M, N, x_row, BLOCK: tl.constexpr):
    r, c = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    either = (r[:, None] < M) | (c[None, :] < N)
    x = tl.load(x_ptr + r[:, None] * x_row + c[None, :], mask=either, other=0.0)
    tl.store(y_ptr + r, tl.sum(x, axis=1), mask=r < M)


def test_conditions_of_which_one_is_enough_are_told():
    x, y = torch.zeros(20, 10), torch.zeros(20)
    error = stray(lambda: either_condition[(1,)](x, y, 20, 10, 10, BLOCK=32))
    assert error.fault[-1] == ("cause", "either")
    assert "joins it to another condition with `|`" in error.sentence


@triton.jit
def backwards(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    tl.store(y_ptr + c, tl.load(x_ptr - c, mask=c < n), mask=c < n)


def test_an_index_that_is_subtracted_in_the_address_is_named_as_such():
    x, y = torch.zeros(20), torch.zeros(20)
    error = stray(lambda: backwards[(1,)](x, y, 20, BLOCK=32))
    assert error.fault[-1] == ("cause", "subtracted")
    assert "subtracts `c` in the address" in error.sentence


@triton.jit
def backwards_by_a_name(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr):
    r, c = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    tile = r[:, None] * N + c[None, :]
    x = tl.load(x_ptr - tile, mask=(r[:, None] < M) & (c[None, :] < N))
    tl.store(y_ptr + r, tl.sum(x, axis=1), mask=r < M)


def test_a_line_without_a_minus_is_not_said_to_subtract():
    error = stray(lambda: backwards_by_a_name[(1,)](torch.zeros(20, 10), torch.zeros(20), 20, 10, BLOCK=32))
    assert error.fault[-1] == ("cause", "subtracted")
    assert "The address subtracts `" in error.sentence


@triton.jit
def row_without_stride(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    at = x_ptr + r + lane
    for start in range(0, N, BLOCK):
        x = tl.load(at, mask=start + lane < N, other=0.0)
        at += BLOCK
        tl.store(y_ptr + r, tl.sum(x, axis=0))


def test_a_pointer_that_a_loop_moves_is_not_blamed_where_the_index_has_a_further_term():
    x, y = torch.zeros(5, 96)[:, :75], torch.zeros(5)
    error = stray(lambda: row_without_stride[(5,)](x, y, 75, BLOCK=32))
    assert "has other terms besides" in error.sentence and "moves the pointer" not in error.sentence
