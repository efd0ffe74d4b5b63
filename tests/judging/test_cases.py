"""Every status has its cause, its sentence and its place; a right kernel in any style passes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal

import pytest
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.course.answers import solution
from flashlearn.judging import cases
from flashlearn.judging.cases import run
from flashlearn.lessons import find
from flashlearn.outcome import Status
from flashlearn.running.answer import Here

SCALED_ADD = find("scaled_add")
SOFTMAX = find("softmax_forward")


@triton.jit
def add_kernel(x_ptr, y_ptr, z_ptr, a, n, step_x, step_y, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    x = tl.load(x_ptr + lanes * step_x, mask=mask)
    y = tl.load(y_ptr + lanes * step_y, mask=mask)
    tl.store(z_ptr + lanes, a * x + y, mask=mask)


def right(a, x, y, block=64):
    z = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n = x.numel()
    add_kernel[(triton.cdiv(n, block),)](x, y, z, a, n, x.stride(0), y.stride(0), BLOCK=block)
    return z


@triton.jit
def wild_kernel(x_ptr, z_ptr):
    tl.store(z_ptr + 12345678901234, tl.load(x_ptr))


def wild(a, x, y):
    z = torch.empty_like(x)
    wild_kernel[(1,)](x, z)
    return z


@triton.jit
def endless_kernel(x_ptr, z_ptr):
    i = tl.load(x_ptr) * 0
    while i < 1:
        tl.store(z_ptr, i)


def endless(a, x, y):
    z = torch.empty_like(x)
    endless_kernel[(1,)](x, z)
    return z


@triton.jit
def racing_kernel(x_ptr, y_ptr, z_ptr, a, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n)
    tl.store(z_ptr + lanes, a * x + tl.program_id(0), mask=lanes < n)


def racing(a, x, y):
    x = x.contiguous()
    z = torch.zeros_like(x)
    racing_kernel[(4,)](x, y, z, a, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
    return z


@triton.jit
def copy_kernel(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n), mask=lanes < n)


def torch_then_copy(a, x, y):
    answer = (a * x.float() + y.float()).to(x.dtype)
    z = torch.empty_like(answer)
    copy_kernel[(triton.cdiv(x.numel(), 64),)](answer, z, x.numel(), BLOCK=64)
    return z


def forgets_to_return(a, x, y):
    right(a, x, y)


def changes_its_input(a, x, y):
    z = right(a, x, y)
    x.mul_(2)
    return z


def returns_its_input(a, x, y):
    y.copy_(right(a, x, y))
    return y


_remembered = []


def remembers(a, x, y):
    shapes = [(r.shape, r.dtype) for r in _remembered]
    if (x.shape, x.dtype) in shapes:
        return _remembered[shapes.index((x.shape, x.dtype))]
    _remembered.append(right(a, x, y))
    return _remembered[-1]


def raises_in_the_launcher(a, x, y):
    return x.reshape(7, -1, 13)


def verdict(function, exercise=SCALED_ADD):
    outcomes = run(exercise, function, compiled=False)
    order = list(Status)
    return min(outcomes, key=lambda o: order.index(o.status))


@pytest.mark.parametrize("block", [16, 64, 256])
def test_a_right_kernel_passes_whatever_its_block(block):
    outcomes = run(SCALED_ADD, lambda a, x, y: right(a, x, y, block), compiled=False)
    assert {o.status for o in outcomes} == {Status.PASS}
    assert len(outcomes) == sum(not c.gpu for c in SCALED_ADD.cases)


def test_a_wild_pointer_is_out_of_bounds_with_its_line():
    found = verdict(wild)
    assert found.status is Status.OUT_OF_BOUNDS
    assert found.place.text.strip() == "tl.store(z_ptr + 12345678901234, tl.load(x_ptr))"


def test_an_endless_loop_runs_out_of_time_and_names_the_line(monkeypatch):

    found = verdict(endless, SCALED_ADD.with_time_limit(0.5))
    assert found.status is Status.TIMEOUT
    assert "Still running after" in found.message and found.place.function == "endless_kernel"


def test_programs_that_overwrite_each_other_race():
    found = verdict(racing)
    assert found.status is Status.RACE
    assert "z_ptr" in found.message


def test_torch_softmax_is_not_the_learner_s_kernel():
    found = verdict(lambda s: torch.softmax(s.float(), dim=-1).to(s.dtype), SOFTMAX)
    assert found.status in (Status.NOT_YOURS, Status.WRONG)
    plain = run(SOFTMAX, lambda s: torch.softmax(s, dim=-1), compiled=False)
    assert plain[0].status is Status.NOT_YOURS
    assert "torch.softmax" in plain[0].message


def test_a_kernel_that_only_copies_torch_s_answer_is_not_the_learner_s_work():
    found = verdict(torch_then_copy)
    assert found.status is Status.NOT_YOURS
    assert "arithmetic operations" in found.message


def test_plain_torch_is_not_a_kernel():
    found = verdict(lambda a, x, y: (a * x.float() + y.float()).to(x.dtype))
    assert found.status is Status.NOT_YOURS
    assert "no kernel was launched" in found.message


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (forgets_to_return, "returned None"),
        (changes_its_input, "the input x has other values"),
        (returns_its_input, "the input y has other values"),
        (remembers, "first call's answer"),
        (lambda a, x, y: (x, y), "returned 2 values"),
        (lambda a, x, y: right(a, x, y)[:-1], "shape"),
        (lambda a, x, y: right(a, x, y).double(), "dtype float64, expected"),
        (lambda a, x, y: torch.zeros_like(x), "off by"),
        (lambda a, x, y: torch.empty_like(x), "NaN or infinite"),
        (lambda a, x, y: torch.full_like(x, float("nan")), "NaN or infinite"),
    ],
)
def test_a_wrong_answer_is_wrong_before_it_is_anything_else(function, words):
    found = verdict(function)
    assert found.status is Status.WRONG
    assert words in found.message


def test_an_exception_in_the_launcher_shows_message_and_line():
    found = verdict(raises_in_the_launcher)
    assert found.status is Status.CRASHED
    assert found.message.startswith("RuntimeError: shape")
    assert found.place.text.strip() == "return x.reshape(7, -1, 13)"


@pytest.mark.parametrize("thing", [add_kernel, None, 3.0, "scaled_add"])
def test_what_is_no_launcher_is_refused_with_a_sentence(thing):
    outcomes = run(SCALED_ADD, thing)
    assert [o.status for o in outcomes] == [Status.CRASHED]
    assert "check expects" in outcomes[0].message


def test_an_unknown_exercise_is_answered_with_the_closest():
    with pytest.raises(flashlearn.UnknownExercise, match="scaled_add"):
        flashlearn.check("scaled_ad", right)


def test_strict_mode_raises_except_for_demonstrations(monkeypatch):
    monkeypatch.setenv("FLASHLEARN_STRICT", "1")
    with pytest.raises(flashlearn.CheckFailed):
        flashlearn.check("scaled_add", racing)
    assert not flashlearn.check("scaled_add", racing, demo=True).passed


def test_a_demonstration_is_not_recorded():
    from flashlearn.course.progress import Progress

    flashlearn.check("scaled_add", right, demo=True)
    assert Progress().attempts() == {}
    flashlearn.check("scaled_add", right)
    assert Progress().attempts() == {"scaled_add": 1}
    assert "scaled_add" in Progress().passed()


def test_later_cells_get_the_learner_s_function_once_it_has_passed():
    def mine(a, x, y):
        return right(a, x, y)

    assert flashlearn.use("scaled_add", mine) is not mine
    assert flashlearn.check("scaled_add", mine).passed
    assert flashlearn.use("scaled_add", mine) is mine


def test_an_interrupt_stops_the_check_and_records_nothing():
    from flashlearn.course.progress import Progress

    def interrupted(a, x, y):
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(flashlearn.CheckStopped):
            flashlearn.check("scaled_add", interrupted)
    finally:
        signal.signal(signal.SIGINT, before)
    assert Progress().attempts() == {}


def test_checks_leave_the_random_state_and_the_environment_alone():
    torch.manual_seed(5)
    before, environment = torch.get_rng_state(), dict(os.environ)
    run(SCALED_ADD, right, compiled=False)
    assert torch.equal(before, torch.get_rng_state())
    assert dict(os.environ) == environment


@triton.jit
def sum_rows_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i, j = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns)
    tl.store(s_ptr + i, tl.sum(x.to(tl.float32), axis=0))


def sum_rows_without_other(x):
    s = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    block = triton.next_power_of_2(x.shape[1])
    sum_rows_kernel[(x.shape[0],)](x, s, x.shape[1], x.stride(0), x.stride(1), BLOCK=block)
    return s


def test_a_sum_over_lanes_that_a_mask_hides_is_wrong_and_said_to_be_undefined():
    report = flashlearn.check("row_sum", sum_rows_without_other, demo=True)
    assert report.status is Status.WRONG
    assert report.finding.mistake == "masked load without other"
    assert "x_ptr is loaded under a mask without other=" in report.finding.sentence
    assert report.finding.place.text.strip().startswith("x = tl.load(")


@triton.jit
def carries_half_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    acc = tl.zeros((BLOCK,), x_ptr.dtype.element_ty)
    for start in range(0, columns, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns, other=0.0)
        acc = acc + x.to(tl.float32)
    tl.store(s_ptr + i, tl.sum(acc, axis=0))


def carries_half(x):
    s = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    carries_half_kernel[(x.shape[0],)](x, s, x.shape[1], x.stride(0), x.stride(1), BLOCK=32)
    return s


def test_a_loop_that_the_compiler_refuses_at_another_dtype_is_refused_there_without_it():
    report = flashlearn.check("row_sum", carries_half, demo=True)
    assert report.status is Status.CRASHED
    assert {o.case.dtype for o in report.outcomes if o.status is Status.CRASHED} <= {
        torch.float16, torch.bfloat16,
    }  # fmt: skip
    assert "`acc` enters the loop in line" in report.sentence and "fp16 (32,)" in report.sentence
    assert report.finding.place.text.strip().startswith("acc = tl.zeros(")


def test_kernels_are_compiled_beside_the_observed_run_once_the_first_case_has_passed(monkeypatch):
    exercise, seen = find("row_sum"), []

    class Watched(Here):
        @contextlib.contextmanager
        def compiling(self, draws, watching):
            seen.append(("begins", len(draws)))
            yield
            seen.append(("ends", self.taken > 0))

    def compiled(*_, drawn, **__):
        seen.append(("compiled", all(drawn.of(c) is drawn.of(c) for c in small.cases)))
        return []

    monkeypatch.setattr(cases, "run_compiled", compiled)
    small = dataclasses.replace(
        exercise, cases=exercise.cases[:3], timed=dataclasses.replace(exercise.timed, case=exercise.cases[1])
    )
    outcomes = cases.run(small, Watched(solution(exercise), small), compiled=True)
    assert {o.status for o in outcomes} == {Status.PASS}
    assert seen == [("begins", 4), ("compiled", True), ("ends", True)]
    seen.clear()
    assert cases.run(small, Watched(lambda x: x.sum(1), small), compiled=True)[0].status is not Status.PASS
    assert not seen  # whoever has not passed the first case has nothing to compile yet
