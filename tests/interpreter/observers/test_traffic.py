"""Bytes stand in the row of the tensor that they belong to, also where tensors share memory."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.interpreter.errors import OutOfBounds
from flashlearn.interpreter.route import observing


@triton.jit
def halve_both(x_ptr, y_ptr, out_ptr):
    i = tl.arange(0, 8)
    x = tl.load(x_ptr + i) + tl.load(x_ptr + i)
    tl.store(out_ptr + i, x + tl.load(y_ptr + i // 2))


@triton.jit
def square(part_ptr, squares_ptr):
    i = tl.arange(0, 8)
    tl.store(squares_ptr + i, tl.load(part_ptr + i) * tl.load(part_ptr + i))


def _counts(session, name, by="traffic"):
    row = getattr(session.observation(), by)[name]
    return row.loaded, row.unique_loaded, row.stored, row.unique_stored


def test_parts_of_one_buffer_have_a_row_each():
    buffer, out = torch.ones(2, 8), torch.empty(8)
    with observing() as (session, _):
        halve_both[(1,)](buffer[0], buffer[1], out)
    assert _counts(session, "x_ptr") == (64, 32, 0, 0)
    assert _counts(session, "y_ptr") == (32, 16, 0, 0)
    assert _counts(session, "out_ptr") == (0, 0, 32, 32)


def test_one_tensor_under_two_names_has_one_row():
    x, out = torch.ones(8), torch.empty(8)
    with observing() as (session, _):
        halve_both[(1,)](x, x, out)
    assert _counts(session, "x_ptr, y_ptr") == (96, 32, 0, 0)


def test_each_launch_has_its_own_names():
    x, part, squares = torch.ones(8), torch.empty(8), torch.empty(8)
    with observing() as (session, _):
        halve_both[(1,)](x, torch.ones(8), part)
        square[(1,)](part, squares)
    assert _counts(session, "out_ptr") == (0, 0, 32, 32)
    assert _counts(session, "part_ptr") == (64, 32, 0, 0)


def test_one_tensor_under_two_names_of_two_kernels_is_counted_once():
    x, part = torch.ones(8), torch.empty(8)
    with observing() as (session, _):
        halve_both[(1,)](x, torch.ones(8), part)
        square[(1,)](x, torch.empty(8))
    assert _counts(session, "x_ptr, part_ptr", "tensors") == (128, 32, 0, 0)
    seen = session.observation()
    assert set(seen.tensors) == {"x_ptr, part_ptr", "y_ptr", "out_ptr", "squares_ptr"}
    assert (seen.bytes_requested, seen.bytes_unique) == (128 + 32 + 32 + 32, 32 + 16 + 32 + 32)


def test_one_tensor_given_twice_to_one_kernel_is_counted_once():
    x = torch.ones(8)
    with observing() as (session, _):
        halve_both[(1,)](x, x, torch.empty(8))
        square[(1,)](x, torch.empty(8))
    assert _counts(session, "x_ptr, y_ptr, part_ptr", "tensors") == (160, 32, 0, 0)
    assert session.observation().bytes_unique == 32 + 32 + 32


def test_parts_of_one_buffer_are_two_tensors_also_where_another_kernel_has_one_of_them():
    buffer = torch.ones(2, 8)
    with observing() as (session, _):
        halve_both[(1,)](buffer[0], buffer[1], torch.empty(8))
        square[(1,)](buffer[1], torch.empty(8))
    assert _counts(session, "x_ptr", "tensors") == (64, 32, 0, 0)
    assert _counts(session, "y_ptr, part_ptr", "tensors") == (96, 32, 0, 0)


def test_what_was_never_written_is_named_by_the_part_that_has_it():
    buffer = torch.ones(8)
    with observing() as (session, _):
        both = torch.empty(2, 8)
        square[(1,)](buffer, both[0])
        halve_both[(1,)](both[0], both[1], torch.empty(8))
    (caution,) = session.observation().warnings
    assert "reads y_ptr[0], where nothing was written yet" in caution.sentence
    assert "the memory of y_ptr with torch.empty" in caution.sentence


def test_the_part_that_is_left_is_named():
    buffer = torch.ones(2, 8)
    with observing(), pytest.raises(OutOfBounds, match=r"y_ptr\[3\]"):
        halve_both[(1,)](buffer[0], buffer[1, :3], torch.empty(8))
