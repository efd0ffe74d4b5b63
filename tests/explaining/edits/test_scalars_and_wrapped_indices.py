"""Edits of scalar factors, of indices that wrap around, and of a value that is overwritten too early."""

from __future__ import annotations

import pytest

import flashlearn
from flashlearn.explaining.edits import edits_of
from flashlearn.kernels.flash_forward import flash_forward
from tests.corpus import function_with_edits

KERNEL = """
@triton.jit
def kernel(x_ptr, y_ptr, lse_ptr, alpha, N, D, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    m = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        rows = (start + lanes) % N
        x = tl.load(x_ptr + rows[:, None] * D + lanes[None, :])
        s = tl.dot(x, tl.trans(x)) * (1.0 / tl.sqrt(D))
        s = alpha * tl.where(s > 0, s, float("-inf"))
        p = tl.exp2(s * 0.6931 - m[:, None])
        new = tl.max(s, axis=1)
        m = new
        old = tl.exp(m - new)
        tl.store(y_ptr + rows, old)
    tl.store(lse_ptr + lanes, m + tl.log(tl.sum(p, axis=1)))
"""


@pytest.mark.parametrize(
    ("kind", "line", "new"),
    [
        ("wrapped index", 7, 'tl.where(((start + lanes) < N)[None, :], …, float("-inf"))'),
        ("wrapped index", 7, "tl.where(((start + lanes) < N)[:, None], …, 0.0)"),
        ("own scale", 9, "alpha"),
        ("scaled mask", 10, 'tl.where(s > 0, alpha * s, float("-inf"))'),
        ("other base", 11, "s * 0.6931 - m[:, None] * 1.4426950408889634"),
        ("other base", 11, "1.4426950408889634"),
        ("overwritten early", 13, "m = new"),
        ("other base", 16, "m * 0.6931471805599453 + tl.log(tl.sum(p, axis=1))"),
    ],
)  # fmt: skip
def test_an_edit_is_proposed_for_its_line(kind, line, new):
    proposed = [edit.new for edit in edits_of(KERNEL) if edit.kind.name == kind and edit.line == line]
    assert any(one.startswith(new) for one in proposed), proposed


def test_keys_that_wrap_around_are_named_with_the_mask_that_hides_them():
    wrapped = ("columns = start + keys", "columns = (start + keys) % S_k")
    unmasked = ('        s = tl.where(in_keys[None, :], s, -float("inf"))', "")
    report = flashlearn.check(
        "flash_forward", function_with_edits(flash_forward, wrapped, unmasked), demo=True
    )
    assert "wraps indices past the end around to the first ones" in report.sentence
    assert "columns = (start + keys) % S_k" in report.finding.place.text
