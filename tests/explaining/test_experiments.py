"""Suspicions that are tested by running the answer once more."""

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
