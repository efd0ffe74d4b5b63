"""Kernels are compiled before their first launch, each once; what goes wrong there is left to the launch.

No GPU is needed: triton compiles for one that is not here, and a dry run launches nothing.
"""

from __future__ import annotations

import dataclasses
import os
import signal

import pytest
import torch
import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from flashlearn.course.answers import solution as exercise_solution
from flashlearn.interpreter import route
from flashlearn.interpreter.dry_run import planned
from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.specialization import TARGET
from flashlearn.lessons import find
from flashlearn.observation import Compiling
from flashlearn.running import compiled_run
from flashlearn.running.answer import Here
from flashlearn.running.background_compiler import BackgroundCompiler, weight
from flashlearn.running.guard_zones import ZeroedWatch
from flashlearn.running.precompiler import Precompiler


class Hopper:
    """As much of triton's driver as compiling asks for."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


@pytest.fixture(autouse=True)
def a_gpu_that_is_not_here(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(driver, "_active", Hopper())
    routed = route.installed()
    route.uninstall()
    yield
    if routed:
        route.install()


def fresh(body: str):
    """A kernel of its own for each test: a jitted function remembers what it has compiled."""
    names = {"stores": stores, "refused": refused}
    return triton.jit(names[body])


def stores(x_ptr, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(x_ptr + lanes, 1.0, mask=lanes < n)


def refused(x_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK > 1000, "a block of 1024 at least")
    tl.store(x_ptr, 1.0)


def launch(kernel, dtype=torch.float32, n=40, block=64):
    kernel[(1,)](torch.zeros(64, dtype=dtype), n, BLOCK=block)


def test_each_distinct_launch_is_compiled_once():
    kernel = fresh("stores")
    with Precompiler(patience=60) as precompiler, precompiler.dry():
        for n in (40, 41, 43):  # 41 and 43 are of one kind: neither is a multiple of 8 or 16
            launch(kernel, n=n)
        launch(kernel, dtype=torch.float16, n=41)
        launch(kernel, block=32, n=41)
    assert len(precompiler.futures) == precompiler.compiled == 4 - (40 % 16 != 0)


def test_the_launch_to_come_finds_the_binary():
    kernel, met = fresh("stores"), []
    with Precompiler(patience=60) as precompiler, precompiler.dry():
        launch(kernel)
    try:
        knobs.compilation.listener = lambda **said: met.append(said["cache_hit"])
        kernel.warmup(torch.zeros(64), 40, BLOCK=64, grid=(1,))  # all of a launch but the launch
    finally:
        knobs.compilation.listener = None
    assert met == [True]


def test_what_the_compiler_refuses_is_said_by_the_launch_and_not_before():
    kernel = fresh("refused")
    with Precompiler(patience=60) as precompiler, precompiler.dry():
        launch(kernel)
    assert len(precompiler.futures) == 1 and precompiler.compiled == 0
    with pytest.raises(triton.CompilationError, match="1024 at least"):
        kernel.warmup(torch.zeros(64), 40, BLOCK=64, grid=(1,))


def test_a_compiler_that_dies_takes_its_own_process_with_it_and_the_kernel_is_refused(monkeypatch):
    kernel, sound = fresh("stores"), fresh("stores")
    with monkeypatch.context() as patch, Precompiler(patience=60) as precompiler, precompiler.dry():
        patch.setattr(triton, "compile", lambda *args, **kwargs: os.abort())
        launch(kernel)
    assert len(precompiler.died) == 1 and precompiler.compiled == 0
    with precompiler.refusing():
        with pytest.raises(KernelCrash, match="compiler crashed on stores"):
            kernel.warmup(torch.zeros(64), 40, BLOCK=64, grid=(1,))
        kernel.warmup(torch.zeros(64), 40, BLOCK=32, grid=(1,))  # with other constants it was not tried
        sound.warmup(torch.zeros(64), 40, BLOCK=64, grid=(1,))


def test_a_compiler_that_does_not_end_is_ended(monkeypatch):
    kernel = fresh("stores")
    with monkeypatch.context() as patch, Precompiler(patience=0.2) as precompiler, precompiler.dry():
        patch.setattr(triton, "compile", lambda *args, **kwargs: signal.pause())
        launch(kernel)
    (future,) = precompiler.futures.values()
    assert future.result(timeout=60) == -signal.SIGKILL and not precompiler.died


def test_an_autotuner_s_configurations_are_compiled_and_none_is_timed():
    tuner = triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64)], key=["n"])(fresh("stores"))
    with Precompiler(patience=60) as precompiler, precompiler.dry():
        tuner[(1,)](torch.zeros(64), 40)
    assert precompiler.compiled == 2 and tuner.cache == {}


def test_triton_gets_its_own_methods_back_even_from_a_launcher_that_fails():
    before = JITFunction.run, JITFunction._do_compile, Autotuner.run
    with Precompiler(patience=1) as precompiler, pytest.raises(ZeroDivisionError), precompiler.dry():
        1 / 0  # noqa: B018
    assert before == (JITFunction.run, JITFunction._do_compile, Autotuner.run)


def test_a_rehearsal_survives_any_launcher_and_draws_every_case(monkeypatch):
    monkeypatch.setattr("flashlearn.running.compiled_run.guarded", lambda inputs, watch: inputs)
    exercise, calls = find("scaled_add"), []

    def breaks(a, x, y):
        calls.append(x.shape)
        raise SystemExit("enough")

    draws = [exercise.inputs(case, case.generator()) for case in exercise.cases]
    with Here(breaks, exercise).prepared(draws, limit=1.0):
        assert len(calls) == len(exercise.cases)


def test_memory_that_no_kernel_fills_in_a_rehearsal_can_be_used_as_an_index():
    with ZeroedWatch():
        assert torch.empty(3, dtype=torch.int64).tolist() == [0, 0, 0]


def aligned(inputs) -> bool:
    return all(t.data_ptr() % 16 == 0 for t in inputs.values() if isinstance(t, torch.Tensor))


def test_what_was_compiled_ahead_is_not_compiled_again(monkeypatch):
    exercise = find("scaled_add")
    answer = Here(exercise_solution(exercise), exercise)
    draws = [exercise.inputs(case, case.generator()) for case in exercise.cases if not case.gpu]
    draws = [inputs for inputs in draws if aligned(inputs)]  # as copies between guard zones are
    said: list[Compiling] = []
    with BackgroundCompiler(answer._caller(), draws, TARGET, said.append) as ahead:
        ready, too_large = ahead.ready(patience=60)
    assert len(ready) >= 3 and too_large == {} and ahead.complete
    assert said[-1] == Compiling(len(ready), len(ready))
    with Precompiler(patience=60, ready=ready) as precompiler, precompiler.dry():
        for inputs in draws:
            answer.function(*inputs.values())
    assert not precompiler.futures
    with Precompiler(patience=0) as precompiler, precompiler.dry():
        for inputs in draws:
            answer.function(*inputs.values())
    assert len(precompiler.futures) == len(ready)  # as many as triton tells apart


def test_a_launcher_whose_kernels_are_all_compiled_is_not_asked_again_what_it_launches(monkeypatch):
    monkeypatch.setattr(compiled_run, "guarded", lambda inputs, watch: inputs)
    exercise, calls = find("scaled_add"), []
    caller = Here(lambda a, x, y: calls.append(1), exercise)._caller()
    draws = [exercise.inputs(exercise.cases[0], exercise.cases[0].generator())]
    for all_ready, asked in ((True, 0), (False, 1)):
        with compiled_run.prepared(caller, draws, 1.0, all_ready=all_ready):
            assert len(calls) == asked


def test_the_kernel_that_takes_longest_is_compiled_first():
    exercise = find("scaled_add")
    answer = Here(exercise_solution(exercise), exercise)
    inputs = exercise.inputs(exercise.cases[0], exercise.cases[0].generator())
    (small,) = [one.specialised for one in planned(answer._caller().call, inputs, 10.0)]
    large = dataclasses.replace(small, constexprs={path: 2 * n for path, n in small.constexprs.items()})
    half = {name: "*fp16" if type == "*fp32" else type for name, type in small.signature.items()}
    first = dict.fromkeys([*half][:1], "*fp16")
    assert weight(large) > weight(small)
    assert weight(dataclasses.replace(small, signature={**first, **half})) <= weight(small)


def test_a_launcher_that_raises_or_looks_at_data_is_left_to_the_real_run():
    exercise = find("scaled_add")
    inputs = exercise.inputs(exercise.cases[0], exercise.cases[0].generator())

    def looks(a, x, y):
        return x if float(x.sum()) > 0 else y

    def ends(a, x, y):
        os._exit(3)

    for launcher in (looks, ends):
        with BackgroundCompiler(Here(launcher, exercise)._caller(), [inputs], TARGET) as ahead:
            assert ahead.ready(patience=60) == (set(), {}) and not ahead.complete
    with BackgroundCompiler(Here(looks, exercise)._caller(), [inputs], None) as ahead:  # no GPU that it knows
        assert ahead.ready(patience=60) == (set(), {})
