"""Suspicions that are tested by running the answer once more."""

import inspect

import torch
import triton
import triton.language as tl

from flashlearn import check
from flashlearn.explaining.experiments import MARKS

ADD = "scaled_add"


def returns_fresh_memory(a, x, y):
    return torch.empty_like(x)


def fills_with(value):
    def launcher(a, x, y):
        return torch.full_like(x, value)

    return launcher


def test_memory_that_nobody_writes_is_told_as_a_launch_that_is_missing():
    assert check(ADD, returns_fresh_memory).finding.kind.name == "nothing launched"


def test_an_answer_whose_number_happens_to_be_a_mark_is_not_fresh_memory():
    for mark in MARKS:
        found = check(ADD, fills_with(mark)).finding
        assert found is None or found.kind.name != "nothing launched"


@triton.jit
def column_sums(dy_ptr, db_ptr, M, N, row, col, BLOCK: tl.constexpr, ROWS: tl.constexpr, HALF: tl.constexpr):
    j = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    total = tl.zeros([BLOCK], dy_ptr.dtype.element_ty if HALF else tl.float32)
    for first in range(0, M, ROWS):
        i = first + tl.arange(0, ROWS)
        inside = (i[:, None] < M) & (j[None, :] < N)
        tile = tl.load(dy_ptr + i[:, None] * row + j[None, :] * col, mask=inside, other=0.0)
        if HALF:
            total += tl.sum(tile.to(tl.float32), axis=0).to(total.dtype)
        else:
            total += tl.sum(tile, axis=0)
    tl.store(db_ptr + j, total, mask=j < N)


def bias_gradient(half):
    def launcher(dy):
        M, N = dy.shape
        db = torch.empty(N, dtype=dy.dtype, device=dy.device)
        column_sums[(triton.cdiv(N, 64),)](dy, db, M, N, *dy.stride(), BLOCK=64, ROWS=32, HALF=half)
        return db

    return launcher


def test_a_sum_kept_in_half_precision_is_told_by_its_name_and_line():
    report = check("bias_gradient", bias_gradient(half=True))
    assert report.finding.kind.name == "rounded inside"
    assert "total +=" in report.finding.place.text
    assert "`total` is kept in half precision" in str(report)


def test_a_sum_in_fp32_is_not_told_as_one_in_half_precision():
    report = str(check("bias_gradient", bias_gradient(half=False)))
    assert "half precision" in report
    assert "is kept in half precision" not in report


@triton.jit
def probabilities(s_ptr, lse_ptr, p_ptr, M, N, s_row, s_col, lse_row, BLOCK: tl.constexpr):
    i, j = tl.program_id(0) * 16 + tl.arange(0, 16)[:, None], tl.arange(0, BLOCK)[None, :]
    inside = (i < M) & (j < N)
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=inside, other=-float("inf"))
    lse = tl.load(lse_ptr + i * lse_row, mask=i < M, other=0.0)
    lse = tl.where(lse == -float("inf"), 0.0, lse).to(s.dtype)
    p = tl.exp((s - lse).to(tl.float32))
    tl.store(p_ptr + i * N + j, p, mask=inside)


def recompute_probabilities(s, lse):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    block = triton.next_power_of_2(N)
    probabilities[(triton.cdiv(M, 16),)](s, lse, p, M, N, *s.stride(), *lse.stride(), BLOCK=block)
    return p


def test_where_only_two_lines_together_round_too_much_both_are_given_and_the_edit_that_is_enough():
    report = check("recompute_probabilities", recompute_probabilities)
    source, first = inspect.getsourcelines(probabilities.fn)
    rounding = [first + n for n, line in enumerate(source) if ".to(s.dtype)" in line or "s - lse" in line]
    rounded, edit = report.finding.parts
    assert rounded.kind.lines == tuple(rounding)
    assert f"lines {rounding[0]} and {rounding[1]}" in report.sentence
    assert edit.place.line == rounding[0] and ".to(tl.float32)` all 3" in report.sentence
