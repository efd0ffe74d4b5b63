"""Edits by analogy: with lines for other tensors, the grid's other axes, the form of a softmax."""

from __future__ import annotations

import pytest

import flashlearn
from flashlearn.explaining.edits import edits_of
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal
from flashlearn.kernels.repeatable_backward import determinism
from flashlearn.outcome import Status
from tests.corpus import function_with_edits

KERNEL = """@triton.jit
def kernel(q_ptr, k_ptr, q_batch, q_head, k_batch, k_head, BLOCK: tl.constexpr):
    h = tl.program_id(1)
    b = tl.program_id(2)
    q_ptr += b * q_batch + h * q_head
    k_ptr += h * k_head
    rows = tl.program_id(0) + tl.arange(0, BLOCK)
    m_new = tl.maximum(m_i, tl.max(s, axis=1))
    rescale = tl.exp(m_i)
    p = s - m_new[:, None]
"""


@pytest.mark.parametrize(
    ("kind", "new"),
    [
        ("analogous line", "k_ptr += b * k_batch + h * k_head"),
        ("program axis", "tl.program_id(0)"),
        ("program id not scaled", "tl.program_id(0) * BLOCK"),
        ("maximum not subtracted", "(m_i - m_new)"),
        ("missing exponential", "tl.exp(s - m_new[:, None])"),
    ],
)
def test_an_analogy_proposes_an_edit(kind, new):
    assert new in [edit.new for edit in edits_of(KERNEL) if edit.kind.name == kind]


def test_rows_have_the_factor_that_they_have_beside_the_same_columns():
    text = "@triton.jit\ndef kernel(x, i, j, d, D):\n    a = i[:, None] + d[None, :]\n    b = {b}\n"
    alike, other = text.format(b="j[:, None] * D + d[None, :]"), text.format(b="j[:, None] * D + j[None, :]")
    put = [[e.new for e in edits_of(t) if e.kind.name == "analogous line"] for t in (alike, other)]
    assert put == [["i[:, None] * D"], []]


def test_a_program_s_number_that_is_converted_is_scaled_by_the_block_of_its_lanes_first():
    text = KERNEL.replace("tl.program_id(0) +", "tl.program_id(0).to(tl.int64) +")
    text = text.replace("BLOCK: tl", "BLOCK_M: tl.constexpr, BLOCK: tl")
    put = [e.new for e in edits_of(text) if e.kind.name == "program id not scaled"]
    assert put == ["tl.program_id(0).to(tl.int64) * BLOCK", "tl.program_id(0).to(tl.int64) * BLOCK_M"]


MISTAKES = {
    "another axis of the grid": (
        flash_forward, "b = (tl.program_id(2)", "b = (tl.program_id(0)", "with `tl.program_id(2)`",
    ),
    "a program's number for its first row": (
        flash_forward_causal, "rows = tl.program_id(0) * BLOCK_Q", "rows = tl.program_id(0)",
        "with `tl.program_id(0) * BLOCK_Q`",
    ),
    "no batch for one tensor": (
        dq_kernel, "do_ptr += b * do_batch + h", "do_ptr += h", "; with `do_ptr += b * do_batch + h",
    ),
    "one pointer is not moved": (
        flash_forward_causal, "    o_ptr += b * o_batch + h * o_head\n", "", "has no counterpart",
    ),
    "no maximum is subtracted": (
        flash_forward, "tl.exp(m_i - m_new)", "tl.exp(m_i)", "from which no maximum is subtracted",
    ),
    "the maximum begins at infinity": (
        flash_forward_causal,
        'm_i = tl.full((BLOCK_Q,), -float("inf")', 'm_i = tl.full((BLOCK_Q,), float("inf")',
        'with `tl.full((BLOCK_Q,), float("-inf")',
    ),
    "another head's delta": (determinism, "    delta_ptr += head * S_q\n", "", "`delta_i` is not delta"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_found_by_analogy(name):
    solution, old, new, words = MISTAKES[name]
    report = flashlearn.check(solution.__name__, function_with_edits(solution, (old, new)), demo=True)
    assert words in report.sentence


def test_a_launcher_that_launches_nothing_is_named():
    def flash_forward(q, k, v, alpha):
        return q.new_empty(q.shape), q.new_empty(q.shape[:3])

    report = flashlearn.check("flash_forward", flash_forward, demo=True)
    assert report.status is Status.WRONG and "No kernel is launched" in report.sentence
