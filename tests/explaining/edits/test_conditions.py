"""Edits of conditions, of indices over two dimensions, and of what a loop keeps: taken back one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flashlearn.exercise import Case
from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.ranking import Hints, ranked
from flashlearn.outcome import Outcome, Status

KERNEL = """
@triton.jit
def kernel(
    q_ptr, k_ptr, q_row, q_col, k_row, k_col, B, H, S_q, S_k, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr
):
    pid = tl.program_id(0)
    h = tl.program_id(1)
    b = tl.program_id(2)
    base = (h * B + b) * S_q
    i = pid * BLOCK_Q + tl.arange(0, BLOCK_Q)
    m = tl.zeros([BLOCK_Q], tl.float32)
    acc = tl.zeros([BLOCK_Q, BLOCK_K], tl.float32)
    end = tl.minimum(S_k, (pid + 1) * BLOCK_Q)
    for start in range(0, end, 2 * BLOCK_K):
        j = start + tl.arange(0, BLOCK_K)
        k = tl.load(k_ptr + j[:, None] * q_row + i[None, :] * q_col)
        s = tl.where(i[:, None] >= j[None, :], k, 0.0)
        m_new = tl.maximum(m, tl.max(s, axis=1))
        f = tl.exp(m - m_new)
        acc = acc + f[:, None] * s
"""
LAUNCHER = """
def launcher(q, causal, D):
    alpha = D ** 0.5
    beta = 1 / D
    first = q if not causal else None
    block = 64 if q.is_cuda else 32
    kernel[(1,)](q, alpha, beta, first, BLOCK=block)
    return q
"""


def made(text: str, kind: str) -> set[tuple[str, str]]:
    return {(edit.old, edit.new) for edit in edits_of(text.strip()) if edit.kind.name == kind}


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("index order", "h * B + b", "b * H + h"),
        ("exchanged axes", "i[:, None] >= j[None, :]", "i[None, :] >= j[:, None]"),
        ("exchanged indices", "i[:, None] >= j[None, :]", "j[:, None] >= i[None, :]"),
        ("maximum not kept", "m_new = tl.maximum(m, tl.max(s, axis=1))", "m = m_new"),
        ("other summand", "acc + f[:, None] * s", "acc * f[:, None] + s"),
        ("missing offset", "(pid + 1) * BLOCK_Q", "(pid + 1) * BLOCK_Q + S_k - S_q"),
        ("strides", "k_ptr + j[:, None] * q_row + i[None, :] * q_col",
         "k_ptr + j[:, None] * k_row + i[None, :] * k_col"),
    ],
)  # fmt: skip
def test_a_slip_in_a_kernel_is_taken_back(kind: str, old: str, new: str):
    assert (old, new) in made(KERNEL, kind)


def test_a_loop_advances_by_one_block():
    assert ("2 * BLOCK_K", "BLOCK_K") in made(KERNEL, "loop step")


def test_a_root_and_its_inverse_are_taken_for_each_other():
    assert {("D ** 0.5", "D ** -0.5"), ("1 / D", "1 / (D) ** 0.5")} <= made(LAUNCHER, "root")


def test_a_length_is_no_scale_without_its_root():
    text = "def f(q, alpha=None):\n    alpha = q.shape[-1] if alpha is None else alpha\n    D = q.shape[-1]\n"
    assert made(text, "root") == {("q.shape[-1]", "q.shape[-1] ** -0.5")}
    assert [e.line for e in edits_of(text) if e.kind.name == "root"] == [2]


def test_a_condition_loses_its_not_and_branches_change_places():
    assert ("not causal", "causal") in made(LAUNCHER, "negated condition")
    assert ("q if not causal else None", "None if not causal else q") in made(LAUNCHER, "exchanged branches")


def test_sizes_of_blocks_do_not_change_places_since_a_larger_tile_may_hide_a_mistake():
    assert not any("64" in old for old, _ in made(LAUNCHER, "exchanged branches"))


def order(text: str, *cases: tuple[Status, dict[str, int]]) -> list[tuple[str, str]]:
    """The edits in the order in which they are tried where these cases end in this way."""
    outcomes = [Outcome(Case(str(n), sizes), status, "") for n, (status, sizes) in enumerate(cases)]
    tried = ranked(((0, edit) for edit in edits_of(text.strip())), outcomes, Hints(divergence=[None]))
    return [(edit.old, edit.new) for _, edit in tried]


def test_where_only_other_lengths_fail_names_of_lengths_are_exchanged_early():
    text = "@triton.jit\ndef number(i, j, S_q, S_k):\n    return (i * S_q + j) % S_k\n"
    square, other = {"S_q": 16, "S_k": 16}, {"S_q": 16, "S_k": 32}
    at = [order(text, (Status.PASS, p), (Status.WRONG, other)).index(("S_q", "S_k")) for p in (square, other)]
    assert at[0] < 3 < at[1]


def test_where_only_several_batch_entries_with_several_heads_fail_their_order_is_tried_first():
    one, both = {"B": 1, "H": 3, "S_q": 8, "S_k": 8}, {"B": 2, "H": 3, "S_q": 8, "S_k": 8}
    assert order(KERNEL, (Status.PASS, one), (Status.WRONG, both))[0] == ("h * B + b", "b * H + h")


KERNEL_WITH_DIVISIONS = """
@triton.jit
def k(x_ptr, H, S, sb, sh):
    n = tl.program_id(0)
    b = n % H
    h = n % H
    tl.store(x_ptr + b * sb + h * sh, 0.0)
"""


def test_where_an_access_is_out_of_bounds_a_quotient_is_tried_for_a_remainder_early():
    text = KERNEL_WITH_DIVISIONS
    sizes = {"B": 1, "H": 3}
    stray = order(text, (Status.OUT_OF_BOUNDS, sizes))
    wrong = order(text, (Status.PASS, {"B": 1, "H": 1}), (Status.WRONG, sizes))
    exchanged = ("n % H", "n // H")
    assert stray.index(exchanged) < min(wrong.index(exchanged), 12)


def test_where_an_index_is_negative_a_difference_becomes_a_sum_early():
    text = """
@triton.jit
def kernel(x_ptr, z_ptr, n, row, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK - tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * row, mask=i < n, other=0.0)
    tl.store(z_ptr + i, x - 1.0, mask=i < n)
"""
    edits = [(0, edit) for edit in edits_of(text.strip())]
    outside = Outcome(Case("n 4"), Status.OUT_OF_BOUNDS, fault=("load", True, (-1,), "below"))
    tried = [ranked(edits, [replace(outside, fault=outside.fault[:n])], Hints([None])) for n in (3, 4)]
    places = [[edit.new for _, edit in one].index(_sum_of(text)) for one in tried]
    assert places[1] < 3 < places[0]


def _sum_of(text: str) -> str:
    return text.split("i = ")[1].split("\n")[0].replace("-", "+")
