"""What is wrong, or not the learner's own, never passes, never hangs and never escapes from a check."""

from __future__ import annotations

import dataclasses
import os
import re
import threading
import time

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from flashlearn.interpreter.errors import NeedsGpu
from flashlearn.judging import cases as judging
from flashlearn.judging.cases import run
from flashlearn.lessons import find
from flashlearn.outcome import Outcome, Status

ADD = find("scaled_add").with_time_limit(0.5)
IDS = find("program_ids")
SOFTMAX = find("softmax_forward")


@triton.jit
def copy_kernel(x_ptr, z_ptr, n, rounds, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n, other=0)
    busy = x.to(tl.float32)
    for _ in range(rounds):
        busy = busy * 1.5 + 1.0
    tl.store(z_ptr + lanes, x, mask=lanes < n)


@triton.jit
def endless_kernel(x_ptr):
    i = 0
    while True:
        i += 1


@triton.jit
def idle_kernel(x_ptr):
    pass


@triton.jit
def tile_kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr, tl.sum(tl.zeros([BLOCK], tl.float32)))


@triton.jit
def add_onto_kernel(z_ptr, x_ptr, a, n, step, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(z_ptr + lanes, mask=lanes < n, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + lanes * step, mask=lanes < n, other=0.0).to(tl.float32)
    tl.store(z_ptr + lanes, z + a * x, mask=lanes < n)


@triton.jit
def read_kernel(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr))


def copied(x: torch.Tensor, rounds: int = 0) -> torch.Tensor:
    z = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 256),)](x, z, x.numel(), rounds, BLOCK=256)
    return z


def softmax_by_numpy(s):
    wide = s.double().numpy()
    e = np.exp(wide - wide.max(axis=1, keepdims=True))
    return copied(torch.from_numpy(e / e.sum(axis=1, keepdims=True)).to(s.dtype), rounds=8)


def softmax_by_torch(s):
    e = (s.float() - s.float().amax(dim=1, keepdim=True)).exp()
    return copied((e / e.sum(dim=1, keepdim=True)).to(s.dtype), rounds=8)


def numbers(x, block):
    return torch.arange(x.numel(), dtype=torch.int32) // block


def ids_copied(x, block):
    return copied(numbers(x, block))


def ids_overwritten_by_numpy(x, block):
    z = copied(torch.zeros(x.numel(), dtype=torch.int32))
    z.numpy()[:] = numbers(x, block).numpy()
    return z


def ids_overwritten_by_torch(x, block):
    z = copied(torch.zeros(x.numel(), dtype=torch.int32))
    z[:] = numbers(x, block)
    return z


def ids_overwritten_by_a_thread(x, block):
    z = copied(torch.zeros(x.numel(), dtype=torch.int32))
    writer = threading.Thread(target=lambda: z.copy_(torch.arange(x.numel()) // block))
    writer.start()
    writer.join()
    return z


@pytest.mark.parametrize(
    ("exercise", "function", "words"),
    [
        (SOFTMAX, softmax_by_numpy, "the kernel copied it"),
        (SOFTMAX, softmax_by_torch, "the kernel copied it"),
        (IDS, ids_copied, "the kernel copied it"),
        (IDS, ids_overwritten_by_numpy, "overwritten after"),
        (IDS, ids_overwritten_by_torch, "overwritten after"),
        (IDS, ids_overwritten_by_a_thread, "overwritten after"),
    ],
)
def test_an_answer_from_elsewhere_is_not_the_kernel_s(exercise, function, words):
    found = _first(exercise, function)
    assert found.status is Status.NOT_YOURS
    assert words in found.message


def torch_scales(a, x, y):
    return onto(y, a * x.float(), 1.0)


def torch_adds_in_place(a, x, y):
    return onto(y.mul(1.0), x, a)


def onto(z, x, a):
    z = z.clone(memory_format=torch.contiguous_format)
    add_onto_kernel[(triton.cdiv(z.numel(), 64),)](z, x, a, z.numel(), x.stride(0), BLOCK=64)
    return z


def a_cast_and_a_clone(a, x, y):
    return onto(y.contiguous(), x.float().contiguous(), a)


@pytest.mark.parametrize("function", [torch_scales, torch_adds_in_place])
def test_arithmetic_of_the_inputs_is_the_kernel_s_where_it_is_the_exercise(function):
    found = _first(ADD, function)
    assert found.status is Status.NOT_YOURS
    assert "belongs in your kernel" in found.message and found.place is not None


def test_casts_and_copies_are_the_launcher_s():
    assert all(o.status is Status.PASS for o in run(find("scaled_add"), a_cast_and_a_clone, compiled=False))


def softmax_in_place(s):
    e = (s.float() - s.float().amax(dim=1, keepdim=True)).exp()
    p = (e / e.sum(dim=1, keepdim=True)).to(s.dtype)
    add_onto_kernel[(triton.cdiv(p.numel(), 64),)](p, torch.zeros_like(p), 0.0, p.numel(), 1, BLOCK=64)
    return p


def test_an_answer_that_a_kernel_only_touches_is_not_the_kernel_s():
    exercise = dataclasses.replace(SOFTMAX, judged=dataclasses.replace(SOFTMAX.judged, work=None))
    found = _first(exercise, softmax_in_place)
    assert found.status is Status.NOT_YOURS
    assert "held it before your kernel ran" in found.message


def _softmax(s):
    e = (s.float() - s.float().amax(dim=1, keepdim=True)).exp()
    return e / e.sum(dim=1, keepdim=True)


def softmax_doubled_and_halved(s):
    p, half = 2 * _softmax(s), torch.full((s.numel(),), 0.5)
    out = torch.zeros(s.shape, dtype=s.dtype)
    times_kernel[(triton.cdiv(p.numel(), 64),)](p, half, out, p.numel(), BLOCK=64)
    return out


def zeros_plus_softmax(s):
    zeros = torch.empty(s.shape, dtype=s.dtype)
    times_kernel[(triton.cdiv(s.numel(), 64),)](s, torch.zeros(s.numel()), zeros, s.numel(), BLOCK=64)
    return (zeros.nan_to_num() * 0 + _softmax(s)).to(s.dtype)


def softmax_by_numpy_halved(s):
    x = s.float().numpy()
    e = np.exp(x - x.max(axis=1, keepdims=True))
    p, half = torch.from_numpy(2 * e / e.sum(axis=1, keepdims=True)), torch.full((s.numel(),), 0.5)
    out = torch.zeros(s.shape, dtype=s.dtype)
    times_kernel[(triton.cdiv(p.numel(), 64),)](p, half, out, p.numel(), BLOCK=64)
    return out


@triton.jit
def times_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n, other=0.0)
    tl.store(z_ptr + lanes, x * tl.load(y_ptr + lanes, mask=lanes < n, other=0.0), mask=lanes < n)


@pytest.mark.parametrize(
    "function", [softmax_doubled_and_halved, zeros_plus_softmax, softmax_by_numpy_halved]
)
def test_an_answer_that_a_kernel_only_halves_or_adds_to_is_not_the_kernel_s(function):
    exercise = dataclasses.replace(
        SOFTMAX, cases=SOFTMAX.cases[1:2], judged=dataclasses.replace(SOFTMAX.judged, work=None)
    )
    found = _first(exercise, function)
    assert found.status is Status.NOT_YOURS
    assert "up to a factor and a constant" in found.message


def test_a_needs_gpu_of_the_learner_s_own_excuses_nothing():
    assert _first(ADD, raises(NeedsGpu("this one needs a GPU"))).status is Status.CRASHED


def keeps_a_clone(a, x, y):
    z = onto(y, x, a)
    kept = z.clone()
    read_kernel[(1,)](kept, torch.zeros(1))  # as a backward pass reads what the forward pass kept
    return z


def test_a_clone_of_a_kernel_s_result_is_the_kernel_s_work():
    assert all(o.status is Status.PASS for o in run(find("scaled_add"), keeps_a_clone, compiled=False))


def swallows_everything(a, x, y):
    while True:
        try:  # noqa: SIM105
            endless_kernel[(1,)](x)
        except:  # noqa: E722
            pass


def never_leaves_its_finally(a, x, y):
    while True:
        try:
            time.sleep(0.001)
        finally:
            continue  # noqa: B012


def waits_for_a_lock(a, x, y):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=60)


def spins_in_a_large_power(a, x, y):
    return 7 ** (10**8)


def spins_in_a_regular_expression(a, x, y):
    re.match(r"(a+)+$", "a" * 60 + "b")


def loops_in_twenty_five_frames(a, x, y, depth=25):
    for _ in range(10):
        if depth:
            loops_in_twenty_five_frames(a, x, y, depth - 1)


@pytest.mark.parametrize(
    ("function", "limit"),
    [
        (swallows_everything, 0.3),
        (never_leaves_its_finally, 0.05),
        (waits_for_a_lock, 0.05),
        (loops_in_twenty_five_frames, 0.05),
        (spins_in_a_large_power, 0.05),
        (spins_in_a_regular_expression, 0.05),
    ],
)
def test_nothing_outlives_its_time_limit(function, limit):
    quick = ADD.with_time_limit(limit)
    assert _first(quick, function).status is Status.TIMEOUT


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError


def raises(error):
    def launcher(a, x, y):
        raise error

    return launcher


def calls_itself(a, x, y):
    return calls_itself(a, x, y)


def forks(a, x, y):
    os.fork()
    return onto(y, x, a)


def test_all_cases_together_have_a_limit_too(monkeypatch):
    """Each case is within its time, and all together are not."""
    monkeypatch.setattr(judging, "CHECK_LIMIT_FACTOR", 0)
    outcomes = run(ADD, lambda a, x, y: onto(y, x, a), compiled=False)
    assert [o.status for o in outcomes] == [Status.PASS, Status.TIMEOUT]
    assert "The first case took" in outcomes[-1].message


def checks_itself(a, x, y):
    return run(ADD, checks_itself)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (raises(SystemExit(3)), "called sys.exit"),
        (raises(GeneratorExit()), "GeneratorExit"),
        (raises(KeyboardInterrupt()), "raised KeyboardInterrupt"),
        (calls_itself, "RecursionError"),
        (forks, "os.fork is refused"),
        (raises(Unspeakable()), "cannot be shown"),
        (lambda a, x, y: torch.empty(10**12), "more memory than is available"),
        (lambda a, x, y: torch.zeros(2 * 10**6, 10**5), "more memory than is available"),
        (lambda a, x, y: x[:1].expand(10**12).clone(), "more memory than is available"),
        (lambda a, x, y: idle_kernel[(1, 70000)](x), "at most 65535 programs along y"),
        (lambda a, x, y: idle_kernel[(2**31,)](x), "at most 2147483647 programs along x"),
        (lambda a, x, y: tile_kernel[(1,)](x, BLOCK=2**30), "exceeds triton maximum tensor numel"),
    ],
)
def test_what_cannot_run_crashes_with_a_sentence(function, words):
    found = _first(
        ADD.with_time_limit(10), function
    )  # collecting a long session's garbage may take half a second
    assert found.status is Status.CRASHED
    assert words in found.message


def test_a_check_inside_a_check_is_refused():
    assert _first(ADD, checks_itself).status is not Status.PASS


class LiesAboutItsClass:
    def __init__(self, claimed):
        self.claimed = claimed

    @property
    def __class__(self):
        return self.claimed or 1 / 0


@pytest.mark.parametrize(
    "odd",
    [
        lambda z: LiesAboutItsClass(torch.Tensor),
        lambda z: LiesAboutItsClass(tuple),
        lambda z: LiesAboutItsClass(None),
        lambda z: torch.empty(z.shape, device="meta"),
        lambda z: z.to_sparse(),
        lambda z: torch.nested.nested_tensor([z]),
        lambda z: z.numpy(),
        lambda z: iter(z),
    ],
)
def test_results_that_cannot_be_compared_are_wrong(odd):
    found = _first(ADD, lambda a, x, y: odd(torch.zeros(x.shape)))
    assert found.status is Status.WRONG
    assert found.message.startswith(("z is a", "The launcher returned"))


def test_the_language_is_as_it_was_after_a_kernel_was_stopped():
    _first(ADD, lambda a, x, y: idle_kernel[(1,)](x))
    before = dict(vars(tl)), dict(vars(tl.core)), {k: v for k, v in vars(tl.tensor).items()}
    _first(ADD, lambda a, x, y: endless_kernel[(1,)](x))
    assert before == (dict(vars(tl)), dict(vars(tl.core)), dict(vars(tl.tensor)))


def _first(exercise, function) -> Outcome:
    return next(o for o in run(exercise, function, compiled=False) if o.status is not Status.PASS)
