"""Right numbers are not enough: what triton's front end refuses does not pass."""

from __future__ import annotations

import logging

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.compiler import lowering
from flashlearn.exercise import Case, Exercise, HowJudged, Kind
from flashlearn.judging import gpu_acceptance
from flashlearn.judging.cases import run
from flashlearn.outcome import Outcome, Status

DOUBLED = Exercise(
    name="doubled",
    lesson="00",
    kind=Kind.KERNEL,
    title="Twice a vector",
    signature="(x) -> y",
    outputs=("y",),
    inputs=lambda case, generator: {"x": torch.randn(case.sizes["n"], generator=generator).to(case.dtype)},
    cases=(
        Case("20 elements", sizes={"n": 20}, seed=1),
        Case("40 in fp16", sizes={"n": 40}, dtype=torch.float16, seed=2),
    ),
    judged=HowJudged(reference=lambda x: 2 * x),
    solution="",
)


@triton.jit
def until_a_break(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n)
    for k in range(4):
        if k == 2:
            break
        tl.store(y_ptr + i, x * 2, mask=i < n)


@triton.jit
def only_in_half_precision(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i, mask=i < n)
    if x_ptr.dtype.element_ty == tl.float16:
        values = {"x": x}
        x = values["x"]
    tl.store(y_ptr + i, x * 2, mask=i < n)


@triton.jit
def with_options(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


@triton.jit
def with_a_list(x_ptr, y_ptr, sizes, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < sizes[0]) * 2, mask=i < sizes[0])


def launcher(kernel, *, size=lambda n: n, off=0.0, **options):
    """An answer to the exercise that launches a kernel once."""

    def doubled(x):
        y = torch.empty_like(x)
        kernel[(1,)](x, y, size(x.numel()), N=64, **options)
        return y + off if off else y

    return doubled


def outcomes(answer) -> list[Outcome]:
    return run(DOUBLED, answer, compiled=False)


def test_a_kernel_that_does_not_compile_fails_with_the_construct_and_its_line():
    found = outcomes(launcher(until_a_break))
    assert [outcome.status for outcome in found] == [Status.CRASHED] * 2
    assert found[0].message.startswith(f"{gpu_acceptance.REFUSED} A compiled kernel has no `break`")
    assert found[0].place.text.strip() == "break"


def test_a_refusal_belongs_to_the_cases_that_launched_what_is_refused():
    statuses = [outcome.status for outcome in outcomes(launcher(only_in_half_precision))]
    assert statuses == [Status.PASS, Status.CRASHED]


def test_who_is_wrong_hears_first_what_is_wrong():
    found = outcomes(launcher(until_a_break, off=1.0))
    assert {outcome.status for outcome in found} == {Status.WRONG}


def test_a_kernel_that_compiles_passes():
    assert {outcome.status for outcome in outcomes(launcher(with_options, num_warps=2))} == {Status.PASS}


def test_a_front_end_that_cannot_be_asked_rejects_nothing(monkeypatch, caplog):
    def fails(*_):
        raise OSError("no process")

    monkeypatch.setattr(lowering, "Forked", fails)
    with caplog.at_level(logging.WARNING):
        assert {outcome.status for outcome in outcomes(launcher(until_a_break))} == {Status.PASS}
    assert "no process" in caplog.text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (launcher(with_options, num_warps=3), "num_warps=3: the number of warps must be a power of two"),
        (launcher(with_a_list, size=lambda n: [n]), "sizes of with_a_list is a list"),
        (launcher(with_options, size=str), "n of with_options is text"),
        (launcher(with_options, size=lambda n: torch.tensor(n).numpy()), "is a NumPy array"),
        (launcher(with_options, size=lambda n: torch.float32), "n of with_options is a dtype"),
    ],
)  # fmt: skip
def test_what_a_launch_does_not_take_is_said_at_the_launch(answer, words: str):
    found = outcomes(answer)[0]
    assert found.status is Status.CRASHED and words in found.message
    assert "kernel[(1,)](x, y" in found.place.text
