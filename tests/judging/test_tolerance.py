"""The closeness rule lets right kernels of every precision through and stops what only looks close."""

from __future__ import annotations

import pytest
import torch

from flashlearn.judging.references import largest_error
from flashlearn.judging.tolerance import Truth
from flashlearn.lessons import find

SOFTMAX = find("softmax_forward")
ROW_SUM = find("row_sum")


def truth(exercise, **wanted):
    case = next(c for c in exercise.cases if all(getattr(c, k) == v for k, v in wanted.items()))
    inputs = exercise.inputs(case, case.generator())
    return Truth(exercise, inputs), inputs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_exact_answer_rounded_once_is_accepted(dtype):
    held, _ = truth(SOFTMAX, dtype=dtype)
    assert held.judge(0, held.expected[0].to(dtype)).ok


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_an_error_above_the_allowed_one_is_not(dtype):
    held, _ = truth(SOFTMAX, dtype=dtype)
    allowed, _ = held.allowed(0)
    off = held.expected[0].clone()
    off.view(-1)[0] += 3 * allowed + torch.finfo(dtype).eps
    assert not held.judge(0, off.to(dtype)).ok


def test_what_is_allowed_is_far_below_the_numbers_themselves():
    held, _ = truth(SOFTMAX, dtype=torch.float32)
    allowed, _ = held.allowed(0)
    assert 0 < allowed < 1e-5 * float(held.expected[0].max())


def test_a_not_a_number_never_passes():
    held, _ = truth(SOFTMAX, dtype=torch.float32)
    got = held.expected[0].float()
    got.view(-1)[-1] = float("nan")
    check = held.judge(0, got)
    assert not check.ok and check.error == float("inf")


def test_noise_that_a_maximum_would_accept_is_caught_by_the_rms():
    case = next(c for c in SOFTMAX.cases if c.dtype is torch.bfloat16 and c.sizes["M"] * c.sizes["N"] >= 256)
    held = Truth(SOFTMAX, SOFTMAX.inputs(case, case.generator()))
    allowed, rms = held.allowed(0)
    assert rms < float("inf")
    generator = torch.Generator().manual_seed(0)
    signs = torch.randint(0, 2, held.expected[0].shape, generator=generator) * 2 - 1
    noisy = (held.expected[0] + 0.4 * allowed * signs).to(torch.bfloat16)
    check = held.judge(0, noisy)
    assert check.error <= check.allowed and not check.ok and check.rms_ratio > 1


@pytest.mark.parametrize("special", [float("inf"), -float("inf"), float("nan")])
def test_non_finite_entries_must_be_where_the_reference_has_them(special):
    expected = torch.tensor([1.0, special], dtype=torch.float64)
    assert largest_error(expected.float(), expected) == 0.0
    assert largest_error(torch.tensor([1.0, 2.0]), expected) == float("inf")
    assert largest_error(torch.tensor([special, special]), expected) == float("inf")


def test_integers_must_be_exact():
    exercise = find("program_ids")
    case = exercise.cases[0]
    held = Truth(exercise, exercise.inputs(case, case.generator()))
    right = held.expected[0].to(held.dtypes[0])
    assert held.judge(0, right).ok
    assert not held.judge(0, right + 1).ok


@pytest.mark.parametrize(
    ("got", "words"),
    [
        (None, "is None"),
        (3.0, "is a float"),
        (torch.zeros(2, 2, 2), "shape"),
        ("p", "is a str"),
        (torch.zeros(2, 2).max(dim=1), "is the pair of values and indices that torch's max returns"),
    ],
)
def test_what_cannot_be_compared_is_said(got, words):
    held, _ = truth(ROW_SUM, dtype=torch.float32)
    assert words in held.judge(0, got).problem
