"""No address that a kernel computes does harm, and each stray one is described."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.explaining.faults import _cause
from flashlearn.explaining.findings.case_status import STEPS
from flashlearn.interpreter.errors import OutOfBounds
from flashlearn.interpreter.route import observing


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr, LOAD_MASK: tl.constexpr, STORE_MASK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    x = tl.load(x_ptr + lanes, mask=mask) if LOAD_MASK else tl.load(x_ptr + lanes)
    if STORE_MASK:
        tl.store(y_ptr + lanes, x, mask=mask)
    else:
        tl.store(y_ptr + lanes, x)


@triton.jit
def touch(x_ptr, offset, KIND: tl.constexpr):
    if KIND == "load":
        tl.load(x_ptr + offset)
    elif KIND == "store":
        tl.store(x_ptr + offset, 1.0)
    else:
        tl.atomic_add(x_ptr + offset, 1.0)


@triton.jit
def copy_matrix(x_ptr, y_ptr, M, N, stride_m, stride_n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_m + columns * stride_n, mask=columns < N)
    tl.store(y_ptr + row * N + columns, x, mask=columns < N)


@triton.jit
def copy_described(desc, y_ptr, BLOCK: tl.constexpr):
    tile = desc.load([0, 0])
    at = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(y_ptr + at, tile)


@triton.jit
def from_a_number(y_ptr, address):
    tl.store(y_ptr, tl.load(address.to(tl.pointer_type(tl.float32))))


@triton.jit
def by_one_program_only(y_ptr, n, BLOCK: tl.constexpr, KIND: tl.constexpr):
    part = tl.program_id(1)
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    at, ones = rows[:, None] * BLOCK + columns[None, :], tl.full((BLOCK, BLOCK), 1.0, tl.float32)
    mine = (rows < n)[:, None] & (part == 1)  # a block and a number
    if KIND == "load":
        tl.atomic_add(y_ptr + at, tl.load(y_ptr + at, mask=mine, other=1.0) * 0 + 1, mask=mine)
    elif KIND == "store":
        tl.store(y_ptr + at, ones, mask=mine)
    else:
        tl.atomic_add(y_ptr + at, ones, mask=(part == 1) & (rows < n)[:, None])


@triton.jit
def store_one(y_ptr, ROW: tl.constexpr):
    tl.store(y_ptr + tl.program_id(0) * ROW, 1.0)


def test_of_a_store_of_one_number_no_mask_is_missed():
    error = stray(lambda: store_one[(3,)](torch.zeros(3), ROW=2))
    assert error.sentence.startswith("Program (2, 0, 0) writes y_ptr[4], but")
    assert "mask" not in error.sentence and error.sentence == error.sentence.strip()
    assert "one element" in error.fault and "mask" not in STEPS[_cause(error.fault)]


@triton.jit
def add_everywhere(y_ptr, BLOCK: tl.constexpr):
    tl.atomic_add(y_ptr + tl.arange(0, BLOCK), tl.full((BLOCK,), 1.0, tl.float32))


def stray(launch) -> OutOfBounds:
    with pytest.raises(OutOfBounds) as caught, observing():
        launch()
    return caught.value


def test_a_load_past_the_end_names_tensor_index_lanes_program_line_and_missing_mask():
    x, y = torch.zeros(100), torch.zeros(128)
    error = stray(lambda: copy[(4,)](x, y, 100, BLOCK=32, LOAD_MASK=False, STORE_MASK=True))
    assert "Program (3, 0, 0) reads x_ptr[100]" in error.sentence
    assert "100 elements (0 to 99)" in error.sentence
    assert "28 of the 32 lanes" in error.sentence
    assert "The load has no mask." in error.sentence
    assert error.place.program == (3, 0, 0)
    assert error.place.text.strip().startswith("x = tl.load(x_ptr + lanes")
    assert error.fault[:3] == ("load", False, (100,))


def test_a_mask_that_is_too_wide_is_said_to_be_there():
    x, y = torch.zeros(100), torch.zeros(100)
    error = stray(lambda: copy[(4,)](x, y, 101, BLOCK=32, LOAD_MASK=True, STORE_MASK=True))
    assert "1 of the 32 lanes" in error.sentence
    assert "'s mask is true for it" in error.sentence
    assert error.fault[:4] == ("load", True, (100,), "far")


def test_an_index_is_far_outside_where_more_than_its_dimensions_size_is_let_through():
    x, y = torch.zeros(100), torch.zeros(128)
    error = stray(lambda: copy[(4,)](x, y, 110, BLOCK=32, LOAD_MASK=True, STORE_MASK=True))
    assert error.fault[:4] == ("load", True, (100,), "far")


def test_a_store_past_the_end_leaves_every_byte_as_it_was():
    x, buffer = torch.ones(100), torch.zeros(200)
    error = stray(lambda: copy[(1,)](x, buffer[:100], 100, BLOCK=128, LOAD_MASK=True, STORE_MASK=False))
    assert "writes y_ptr[100]" in error.sentence
    assert not buffer.any()


@pytest.mark.parametrize("kind", ["load", "store", "atomic"])
@pytest.mark.parametrize("offset", [-1, 4, 2**31 - 1, -(2**31), 2**40, -(2**45), 2**61])
def test_no_offset_however_wild_reaches_memory(kind, offset):
    x = torch.zeros(4)
    error = stray(lambda: touch[(1,)](x, offset, KIND=kind))
    assert error.fault[0] == kind
    assert not x.any()


def test_a_pointer_made_from_a_number_belongs_to_no_tensor():
    y = torch.zeros(1)
    error = stray(lambda: from_a_number[(1,)](y, 4096))
    assert "belongs to no tensor" in error.sentence


def test_one_tensor_s_overshoot_is_not_taken_for_its_neighbour():
    both = torch.zeros(2, 64)
    error = stray(
        lambda: copy[(1,)](both[0], both[1].clone(), 80, BLOCK=128, LOAD_MASK=True, STORE_MASK=True)
    )
    assert "reads x_ptr[64]" in error.sentence


def test_memory_between_the_rows_of_a_view_is_out_of_bounds():
    buffer = torch.zeros(4, 64)
    view, y = buffer[:, :37], torch.zeros(4 * 64)
    error = stray(lambda: copy[(1,)](view, y, 64, BLOCK=64, LOAD_MASK=True, STORE_MASK=True))
    assert "x_ptr[0, 37]" in error.sentence
    assert "shape (4, 37)" in error.sentence


def test_memory_between_the_elements_of_a_stepped_view_is_out_of_bounds():
    x, y = torch.zeros(20)[::2], torch.zeros(10)
    error = stray(lambda: copy[(1,)](x, y, 10, BLOCK=16, LOAD_MASK=True, STORE_MASK=True))
    assert (
        "between the elements of x_ptr" in error.sentence and "its stride of 2 leaves gaps" in error.sentence
    )


@pytest.mark.parametrize("layout", ["contiguous", "slice", "transposed", "step"])
def test_a_right_kernel_on_any_layout_is_let_through(layout):
    x = torch.randn(5, 24)
    x = {
        "contiguous": x,
        "slice": torch.randn(5, 64)[:, 7:31],
        "transposed": torch.randn(24, 5).T,
        "step": torch.randn(10, 48)[::2, ::2],
    }[layout]
    y = torch.zeros(5, 24)
    with observing():
        copy_matrix[(5,)](x, y, 5, 24, x.stride(0), x.stride(1), BLOCK=32)
    assert torch.equal(x, y)


def test_an_expanded_tensor_can_be_read():
    x, y = torch.randn(1, 24).expand(5, 24), torch.zeros(5, 24)
    with observing():
        copy_matrix[(5,)](x, y, 5, 24, x.stride(0), x.stride(1), BLOCK=32)
    assert torch.equal(x, y)


def test_a_descriptor_masks_what_lies_outside_its_shape():
    x, y = torch.randn(12, 16), torch.zeros(16, 16)
    with observing() as (session, _):
        copy_described[(1,)](TensorDescriptor.from_tensor(x, [16, 16]), y, BLOCK=16)
    assert torch.equal(y[:12], x) and not y[12:].any()
    assert session.observation().traffic["desc"].loaded == x.numel() * 4


def test_a_descriptor_that_lies_about_its_shape_is_caught():
    x, y = torch.randn(8, 16), torch.zeros(16, 16)
    lying = TensorDescriptor(x, [16, 16], [16, 1], [16, 16])
    error = stray(lambda: copy_described[(1,)](lying, y, BLOCK=16))
    assert "reads desc[8, 0]" in error.sentence


def test_an_empty_tensor_has_no_element_to_read():
    error = stray(lambda: touch[(1,)](torch.zeros(0), 0, KIND="load"))
    assert "is empty" in error.sentence


def test_a_fully_masked_access_touches_nothing():
    x, y = torch.zeros(0), torch.ones(8)
    with observing() as (session, _):
        copy[(1,)](x, y, 0, BLOCK=16, LOAD_MASK=True, STORE_MASK=True)
    assert session.observation().bytes_requested == 0
    assert bool((y == 1).all())


@pytest.mark.parametrize("kind", ["load", "store", "atomic"])
def test_a_comparison_of_numbers_in_a_mask_hides_lanes_like_one_of_blocks(kind):
    y = torch.zeros(40, 16)
    with observing():
        by_one_program_only[(3, 3)](y, 40, BLOCK=16, KIND=kind)
    assert bool((y == 1).all())


def test_an_atomic_without_a_mask_is_said_to_have_none():
    assert "The atomic has no mask." in stray(lambda: add_everywhere[(1,)](torch.zeros(9), BLOCK=16)).sentence


@triton.jit
def copy_tile(x_ptr, y_ptr, M, N, WRAP: tl.constexpr, BLOCK: tl.constexpr):
    rows, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    if WRAP:
        rows = rows % M
    at = rows[:, None] * N + columns[None, :]
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=rows[:, None] < M), mask=rows[:, None] < M)


@triton.jit
def copy_block(x_ptr, y_ptr, M, N, BLOCK: tl.constexpr, CHECKED: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    tl.store(y_ptr + tl.arange(0, BLOCK), tl.sum(tl.load(x, boundary_check=CHECKED), axis=1))


@pytest.mark.parametrize("wrap", [False, True])
def test_a_column_beyond_the_last_is_no_row_beyond_the_last(wrap):
    x = torch.zeros(5, 13)
    with observing(), pytest.raises(OutOfBounds, match=r"x_ptr\[4, 13\].*index 1 must not exceed 12"):
        copy_tile[(1,)](x, torch.zeros(5, 13), 5, 13, wrap, 16)


@pytest.mark.parametrize(
    ("checked", "said"),
    [((), "The load has no boundary_check."), ((0,), "boundary_check names dimension 0 alone.")],
)
def test_a_block_pointer_s_boundary_check_is_no_mask(checked, said):
    with observing(), pytest.raises(OutOfBounds) as raised:
        copy_block[(1,)](torch.zeros(5, 13), torch.zeros(16), 5, 13, 16, checked)
    assert said in str(raised.value)


@triton.jit
def add_matrices(
    x_ptr, y_ptr, z_ptr, M, N, x_row, x_column, y_row, y_column, z_row, z_column,
    BLOCK: tl.constexpr,
):  # fmt: skip
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    inside = (i < M) & (j < N)
    x = tl.load(x_ptr + i * x_row + j * x_column, mask=inside)
    y = tl.load(y_ptr + i * y_row + j * y_column, mask=inside)
    tl.store(z_ptr + i * z_row + j * z_column, x + y, mask=inside)


@pytest.mark.parametrize(
    ("strides_of_y", "said"),
    [
        (
            (5, 1),
            "multiplies `i` by `y_row`, for which the launcher passes 5, a stride of x_ptr, but y_ptr has",
        ),
        ((1, 7), "the address multiplies `i` by `y_row`, the stride of dimension 1."),
        (
            (7, 2),
            "by `y_column`, for which the launcher passes 2, but y_ptr has the strides (7, 1).",
        ),
    ],
)
def test_whose_strides_an_access_was_made_with_is_told(strides_of_y, said):
    x, y, z = torch.zeros(12, 5)[:10], torch.zeros(10, 7)[:, :5], torch.zeros(5, 10).t()
    launch = lambda: add_matrices[(1,)](  # noqa: E731
        x, y, z, 10, 5, *x.stride(), *strides_of_y, *z.stride(), BLOCK=16
    )
    told = str(stray(launch))
    assert said in told and "Neighbouring" not in told


def test_a_stride_that_is_left_out_is_told():
    x = torch.arange(8.0)[::3]
    told = str(stray(lambda: copy[(1,)](x, torch.empty(3), 3, BLOCK=4, LOAD_MASK=True, STORE_MASK=True)))
    assert "Where `lanes` grows by 1, so does the address, but x_ptr has the stride 3." in told


@triton.jit
def add_with_one_address(x_ptr, y_ptr, z_ptr, n, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    at = lanes * stride
    inside = lanes < n
    tl.store(z_ptr + lanes, tl.load(x_ptr + at, mask=inside) + tl.load(y_ptr + at, mask=inside), mask=inside)


def test_an_address_that_has_another_tensor_s_stride_already_is_no_index_without_one():
    x, y = torch.zeros(14)[::2], torch.zeros(21)[::3]
    told = str(stray(lambda: add_with_one_address[(1,)](x, y, torch.empty(7), 7, 2, BLOCK=8)))
    assert "Neighbouring lanes lie 2 elements apart, as in x_ptr, but y_ptr has the stride 3." in told
    assert "grows by 1" not in told


@triton.jit
def first_of_each_head(x_ptr, H, x_batch, x_head, D: tl.constexpr, ONE_AXIS: tl.constexpr):
    b = tl.program_id(0) % H if ONE_AXIS else tl.program_id(1)
    h = tl.program_id(0) // H if ONE_AXIS else tl.program_id(0)
    tl.load(x_ptr + b * x_batch + h * x_head + tl.arange(0, D), mask=h > 0)


@pytest.mark.parametrize("grid", [(6,), (2, 3)])
def test_indices_of_the_program_that_are_exchanged_are_told(grid):
    x = torch.zeros(2, 3, 4)
    launch = first_of_each_head[grid]
    told = str(stray(lambda: launch(x, 3, *x.stride()[:2], D=4, ONE_AXIS=len(grid) == 1)))
    assert "With indices 0 and 1 exchanged it would be inside." in told


def test_a_grid_that_is_too_large_is_no_exchange():
    x = torch.zeros(2, 3, 4)
    launch = first_of_each_head[(9,)]
    assert "exchanged" not in str(stray(lambda: launch(x, 1, *x.stride()[:2], D=4, ONE_AXIS=True)))


@triton.jit
def last_of_each_head(x_ptr, H, x_batch, x_head, D: tl.constexpr):
    bh = tl.program_id(0)
    b = bh // H
    h = bh - b * H
    d = tl.arange(0, D)
    tl.load(x_ptr + b * x_batch + h * x_head + d, mask=h >= 0)


def test_a_head_that_is_a_remainder_is_not_taken_for_the_program_s_number():
    x = torch.zeros(3, 2, 3)
    told = str(stray(lambda: last_of_each_head[(6,)](x, 2, *x.stride()[:2], D=4)))
    assert "x_ptr[2, 1, 3]" in told and "index 2 must not exceed 2" in told
    assert "The mask does not test `d`, index 2 of x_ptr." in told and "bh" not in told
