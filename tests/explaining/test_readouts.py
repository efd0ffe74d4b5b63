"""Weights are said to be wrong only if what was read are the weights, and a leak only if it carries."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flashlearn.explaining.experiments import rounded_inside
from flashlearn.explaining.weights import find_in_weights
from flashlearn.judging.cases import run_observed
from flashlearn.kernels import flash_backward_dkv, flash_backward_dq, flash_forward
from flashlearn.lessons import find
from flashlearn.lessons.shared.attention_cases import attention_case
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.running.answer import Here
from tests.corpus import function_with_edits

P_BY_V, DS_BY_K, P_BY_DO = "p.to(v.dtype), v", "ds.to(k.dtype), k", "p.to(do.dtype)), do"
SOLUTIONS = {
    "flash_forward": flash_forward.flash_forward,
    "flash_forward_causal": flash_forward.flash_forward_causal,
    "dq_kernel": flash_backward_dq.dq_kernel,
    "dq_kernel_causal": flash_backward_dq.dq_kernel_causal,
    "dkv_kernel": flash_backward_dkv.dkv_kernel,
    "dkv_kernel_causal": flash_backward_dkv.dkv_kernel_causal,
}
CASES = (attention_case(20, 37, 16, seed=5),)


def wrong_in(name: str, *changes: tuple[str, str]) -> tuple[Callable, list[Outcome]]:
    function = function_with_edits(SOLUTIONS[name], *changes)
    outcomes = [run_observed(find(name), function, case) for case in CASES]
    return function, [o for o in outcomes if o.status is Status.WRONG]


def read_out(name: str, *changes: tuple[str, str]) -> Finding | None:
    function, wrong = wrong_in(name, *changes)
    assert wrong, "nothing is wrong"
    return find_in_weights(find(name), wrong, Here(function, find(name)))


def rounded(half: str, *operands: str) -> list[tuple[str, str]]:
    """Both operands of a product converted to a fixed type."""
    changes = []
    for pair in operands:
        left, right = pair.split(", ")
        value = left[: left.index(".to(")]
        rest = left[left.index(")") + 1 :]
        changes.append((pair, f"{value}.to({half}){rest}, {right}.to({half})"))
    return changes


@pytest.mark.parametrize(
    ("name", "operands", "half"),
    [
        ("flash_forward", [P_BY_V], "tl.bfloat16"),
        ("dq_kernel_causal", [DS_BY_K], "tl.float16"),
        ("dq_kernel_causal", [DS_BY_K], "tl.bfloat16"),
        ("dkv_kernel_causal", [P_BY_DO], "tl.bfloat16"),
    ],
)
def test_rounding_is_no_weight_and_is_named_as_what_it_is(name, operands, half):
    changes = rounded(half, *operands)
    assert read_out(name, *changes) is None
    function, wrong = wrong_in(name, *changes)
    found = rounded_inside(find(name), wrong, Here(function, find(name)))
    assert found is not None and found.facts["half"] == ({"tl.float16": "fp16"}.get(half, "bf16"),)
    assert half in found.place.text and "fp32" in found.sentence


def test_a_wrong_kernel_that_rounds_nothing_is_not_told_so():
    function, wrong = wrong_in("flash_forward", ("s = alpha * ", "s = "))
    assert rounded_inside(find("flash_forward"), wrong, Here(function, find("flash_forward"))) is None


def test_a_sum_in_half_precision_is_found_by_running_without_rounding():
    name, changes = (
        "flash_forward",
        [
            ("tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)", "tl.zeros((BLOCK_Q, BLOCK_D), tl.float16)"),
            ("acc = acc * rescale[:, None] + ", "acc = (acc * rescale[:, None] + "),
            (P_BY_V + ', input_precision="ieee")', P_BY_V + ', input_precision="ieee")).to(tl.float16)'),
        ],
    )
    function, wrong = wrong_in(name, *changes)
    found = rounded_inside(find(name), wrong, Here(function, find(name)))
    assert found is not None and "acc" in found.place.text


def test_a_leak_is_told_from_rounding_where_there_are_both():
    found = read_out(
        "dq_kernel_causal",
        *rounded("tl.float16", DS_BY_K),
        ("<= last_seen[:, None]", "<= last_seen[:, None] + 1"),
    )
    assert found is not None and found.names == ("leak from the future",)
    assert "key 18 has weight for query 0, which may see only keys 0 to 17" in found.sentence


@pytest.mark.parametrize(
    ("name", "p"),
    [
        ("dq_kernel", "p = tl.exp(s - lse_i[:, None])"),
        ("dkv_kernel", "p = tl.exp(s - lse_i[:, None])"),
        ("flash_forward", "p = tl.exp2((s - m_new[:, None]) * LOG2E)"),
    ],
)
@pytest.mark.parametrize("factor", ["0.0", "1e-5", "1e-7"])
def test_a_weight_that_is_much_too_small_is_not_called_none(name, p, factor):
    found = read_out(name, (p, f"{p} * tl.where(columns[None, :] % 7 == 3, {factor}, 1.0)"))
    assert found is not None and ("almost no weight" in found.sentence) is (factor != "0.0")


MASK = "columns[None, :] <= rows[:, None] + S_k - S_q"
EXCHANGED = ("return dk, dv", "return dv, dk")


@pytest.mark.parametrize(
    "changes",
    [[EXCHANGED], [EXCHANGED, (MASK, "columns[None, :] <= rows[:, None]")]],
    ids=["alone", "with the mask top-left"],
)
def test_an_output_that_is_not_made_of_weights_is_not_read_as_weights(changes):
    assert read_out("dkv_kernel_causal", *changes) is None


def test_do_read_with_the_strides_of_q_leaves_out_no_tile():
    name = "dkv_kernel"
    function = function_with_edits(
        SOLUTIONS[name],
        ("rows[:, None] * do_row + d[None, :] * do_col", "rows[:, None] * q_row + d[None, :] * q_col"),
    )
    cases = [case for case in find(name).cases if "own way" in case.data]
    outcomes = [run_observed(find(name), function, case) for case in cases]
    wrong = [o for o in outcomes if o.status is Status.WRONG]
    found = find_in_weights(find(name), wrong, Here(function, find(name)))
    assert wrong and found is None


@pytest.mark.parametrize(
    ("name", "changes", "kind"),
    [
        ("dkv_kernel", [("tl.trans(p.to(do.dtype))", "tl.trans((p * p).to(do.dtype))")], "P to a power"),
        ("dq_kernel", [("ds = p * (", "ds = p * p * (")], "P to a power"),
        ("flash_forward", [(P_BY_V, "(p * p).to(v.dtype), v")], "exponent times a number"),
        (
            "flash_forward",
            [(P_BY_V, "(p * p).to(v.dtype), v"), ("tl.sum(p, axis=1)", "tl.sum(p * p, axis=1)")],
            "scores times a number",
        ),
    ],
)  # fmt: skip
def test_only_weights_that_sum_to_1_are_called_a_softmax(name, changes, kind):
    found = read_out(name, *changes)
    assert found.kind.name == kind
    assert ("softmax" in found.sentence) is (kind == "scores times a number")
    assert ("not sum to 1" in found.sentence) is (kind != "scores times a number")
