"""Launches in the observer: arguments, loops, helpers, counts, time limits, and a clean namespace."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.interpreter import selftest
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import KernelCrash, LaunchError, TimeLimit, Todo
from flashlearn.interpreter.route import installed, observing


@triton.jit
def double(x):
    return x * 2


@triton.jit
def scale(x_ptr, y_ptr, n, a, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes, mask=lanes < n)
    tl.store(y_ptr + lanes, double(x) * a / 2, mask=lanes < n)


@triton.jit
def loop_sum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        lanes = start.to(tl.int64) + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + lanes, mask=lanes < n, other=0.0)
    tl.store(y_ptr, acc.sum(axis=0))


@triton.jit
def forever(x_ptr):
    i = 0
    while i < 1:
        tl.store(x_ptr, 1.0)


@triton.jit
def stub(x_ptr):
    tl.static_assert(False, "TODO stub: write it")


@triton.jit
def learners_assert(x_ptr):
    tl.static_assert(False, "BLOCK is too small")


@triton.jit
def tile_of_48(x_ptr):
    tl.store(x_ptr + tl.arange(0, 48), 1.0)


@triton.jit
def shared_row(x_ptr, y_ptr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    x = tl.load(x_ptr + lanes)
    tl.store(y_ptr + tl.program_id(0) * N + lanes, tl.exp(x))


@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def tuned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + lanes, tl.load(x_ptr + lanes, mask=lanes < n) + 1, mask=lanes < n)


def crash(launch) -> LaunchError:
    with pytest.raises(LaunchError) as caught, observing():
        launch()
    return caught.value


def test_the_self_test_of_the_hooks_finds_nothing():
    assert selftest.run() == ""


def test_a_launch_computes_and_counts():
    x = torch.randn(100)
    with observing(seed=1) as (session, _):
        y = torch.empty_like(x)
        scale[(4,)](x, y, 100, 3.0, BLOCK=32)
    torch.testing.assert_close(y, 3 * x)
    seen = session.observation()
    assert (seen.traffic["x_ptr"].loaded, seen.traffic["y_ptr"].stored) == (400, 400)
    assert seen.launches[0].signature == {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "a": "fp32"}
    assert seen.launches[0].constexprs == {"BLOCK": 32}


def test_requested_bytes_count_re_reads_and_unique_bytes_do_not():
    x, y = torch.zeros(16), torch.zeros(4, 16)
    with observing() as (session, _):
        shared_row[(4,)](x, y, N=16)
    traffic = session.observation().traffic["x_ptr"]
    assert (traffic.loaded, traffic.unique_loaded) == (4 * 64, 64)
    assert session.observation().operations["special"] == 64


def test_a_loop_variable_is_a_tensor_as_on_a_gpu():
    x, y = torch.randn(100), torch.zeros(1)
    with observing():
        loop_sum[(1,)](x, y, 100, BLOCK=32)
    torch.testing.assert_close(y[0], x.sum())


def test_an_autotuned_kernel_runs_with_its_first_configuration():
    x = torch.randn(40)
    with observing() as (session, _):
        y = torch.empty_like(x)
        tuned[lambda meta: (triton.cdiv(40, meta["BLOCK"]),)](x, y, 40)
    assert torch.equal(y, x + 1)
    assert session.launches[0].grid == (3, 1, 1)


def test_a_kernel_that_loops_for_ever_is_stopped():
    with pytest.raises(TimeLimit), deadline(0.3), observing():
        forever[(1,)](torch.zeros(1))
    x, y = torch.randn(8), torch.zeros(8)
    with observing():
        scale[(1,)](x, y, 8, 1.0, BLOCK=8)
    assert torch.equal(x, y)


def test_a_deadline_raises_nothing_once_its_block_has_ended():
    for _ in range(200):
        with contextlib.suppress(TimeLimit), deadline(0.0005):
            sum(range(2000))
    assert sum(range(2_000_000)) == 1_999_999_000_000


def test_a_busy_machine_takes_nothing_from_a_learner_s_seconds():
    over = threading.Event()

    def busy():
        while not over.is_set():
            sum(range(1000))

    others = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
    for thread in others:
        thread.start()
    begun = time.thread_time()
    try:
        with pytest.raises(TimeLimit), deadline(0.2, asleep=60.0):
            while True:
                pass
    finally:
        over.set()
    assert time.thread_time() - begun >= 0.19


def test_what_sleeps_ends_once_it_has_slept_as_long():
    with pytest.raises(TimeLimit), deadline(0.02):
        time.sleep(60)
    with pytest.raises(TimeLimit), deadline(60.0, asleep=0.05):
        threading.Event().wait(60)


def test_an_import_is_never_cut_short(tmp_path, monkeypatch):
    (tmp_path / "slow_module.py").write_text("n = 0\nfor i in range(6_000_000):\n    n += 1\nwhole = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with contextlib.suppress(TimeLimit), deadline(0.05):
        import slow_module  # noqa: F401
    assert sys.modules["slow_module"].whole


def test_a_stub_is_not_started_and_a_learner_s_own_assert_is_a_crash():
    assert isinstance(crash(lambda: stub[(1,)](torch.zeros(1))), Todo)
    error = crash(lambda: learners_assert[(1,)](torch.zeros(1)))
    assert isinstance(error, KernelCrash) and "BLOCK is too small" in error.sentence


def test_an_error_in_a_kernel_has_the_learner_s_line():
    error = crash(lambda: tile_of_48[(1,)](torch.zeros(48)))
    assert "power of 2" in error.sentence
    assert error.place.text.strip() == "tl.store(x_ptr + tl.arange(0, 48), 1.0)"


@pytest.mark.parametrize(
    ("launch", "words"),
    [
        (lambda x: scale[(100 / 32,)](x, x, 100, 1.0, BLOCK=32), "triton.cdiv"),
        (lambda x: scale[4](x, x, 100, 1.0, BLOCK=32), "tuple"),
        (lambda x: scale[(4,)](x, x, 100, BLOCK=32), "missing a required argument: 'a'"),
        (lambda x: scale[(4,)](x, x, 100, 1.0, BLOCKS=32), "no parameter of that name"),
        (lambda x: scale[(1, 1, 1, 1)](x, x, 100, 1.0, BLOCK=32), "dimensions"),
    ],
)
def test_a_launch_that_does_not_fit_says_how(launch, words):
    assert words in crash(lambda: launch(torch.zeros(100))).sentence


@triton.jit
def add_entry(x, i, extras):
    return x + tl.load(extras[1] + i) if extras[0] is None else x + extras[0]


@triton.jit
def first_half(n):
    return 0, n // 2


@triton.jit
def with_hooks(x_ptr, y_ptr, n, extras, CHANGE: tl.constexpr, SPAN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + i)
    first, end = SPAN(n)
    for _ in range(first, end):
        y = CHANGE(y, i, extras)
    tl.store(y_ptr + i, y)


@pytest.mark.parametrize(("extras", "added"), [((3.0, None), 3.0), ((None, torch.arange(16.0)), None)])
def test_a_kernel_calls_the_functions_that_it_is_handed_over_with_a_tuple_for_them(extras, added):
    x, y = torch.zeros(16), torch.empty(16)
    with observing() as (session, _):
        with_hooks[(1,)](x, y, 6, extras, CHANGE=add_entry, SPAN=first_half, BLOCK=16)
    assert torch.equal(y, 3 * (torch.full((16,), added) if added else torch.arange(16.0)))
    assert session.launches[0].signature["extras"] == "tuple"


def test_an_interpreted_launch_leaves_no_names_behind():
    before = set(globals())
    with observing():
        tile = torch.zeros(16)
        shared_row[(1,)](torch.zeros(16), tile, N=16)
    assert set(globals()) == before


def test_triton_is_as_it_was_after_observing_in_a_fresh_process():
    code = """
import triton, triton.language as tl, torch
from triton.runtime.jit import JITFunction
before = (JITFunction.run, JITFunction.__call__, tl.load, tl.range, dict(vars(tl.tensor)))
from flashlearn.interpreter.route import observing, uninstall
from flashlearn.interpreter import selftest
uninstall()
assert selftest.run() == ""
changed = [n for n, v in vars(tl.tensor).items() if before[4].get(n) is not v and n in before[4]]
assert (JITFunction.run, JITFunction.__call__, tl.load, tl.range) == before[:4]
assert not changed, changed
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_kernel_can_be_compiled_after_it_was_interpreted():
    code = """
import torch, triton
from triton.compiler import ASTSource
from triton.backends.compiler import GPUTarget
import flashlearn
from flashlearn.interpreter.selftest import _copy_and_sum, run
assert run() == ""
source = ASTSource(_copy_and_sum, {"x_ptr": "*fp32", "y_ptr": "*fp32", "sum_ptr": "*fp32", "n": "i32",
                   "BLOCK": "constexpr"}, {"BLOCK": 16})
assert triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"]
assert run.__wrapped__() == ""
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_outside_a_check_the_route_protects_a_launch_too():
    import flashlearn

    if flashlearn.DEVICE == "cuda":
        pytest.skip("with a GPU, launches outside a check are compiled")
    assert installed()
    with pytest.raises(LaunchError, match="x_ptr"):
        scale[(4,)](torch.zeros(8), torch.zeros(128), 100, 1.0, BLOCK=32)


@triton.jit
def told_of_its_warps(x_ptr, num_warps: tl.constexpr):
    tl.store(x_ptr, num_warps)


def test_a_parameter_with_an_option_s_name_is_an_option_too_where_a_launch_names_it():
    with observing() as (session, _):
        told_of_its_warps[(1,)](torch.zeros(1), num_warps=8)
        told_of_its_warps[(1,)](torch.zeros(1), 8)
    assert [launch.options for launch in session.launches] == [{"num_warps": 8}, {}]
    assert all(launch.constexprs["num_warps"] == 8 for launch in session.launches)


def test_what_stands_in_a_grid_in_place_of_a_number_is_named_by_its_type():
    x = torch.zeros(64)
    with (
        pytest.raises(KernelCrash, match=r"^An entry of the grid is a Tensor, and"),
        observing(),
    ):
        scale[(x,)](x, torch.zeros(64), 64, 1.0, BLOCK=32)
    with pytest.raises(KernelCrash, match=r"^The grid is \(2.5,\): 2.5 is a float"), observing():
        scale[(2.5,)](x, torch.zeros(64), 64, 1.0, BLOCK=32)
