"""Compiling for an A100 and an H100 on a machine without either: budgets, refusals, and what can go wrong."""

from __future__ import annotations

import inspect
import linecache
import math
import os
import sys
import threading

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from flashlearn import compiler
from flashlearn.compiler import child, compile_launch, explain, packing, start
from flashlearn.interpreter.route import observing
from flashlearn.machine import device
from flashlearn.observation import Launch
from flashlearn.processes import start as processes

NOTHING = tl.constexpr(-float("inf"))
PLAIN = 3
HALF = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "m": "i32", "n": "i32", "k": "i32"}


@triton.jit
def row_maximum(x):
    return tl.max(x, axis=0)


@triton.jit
def softmax_kernel(x_ptr, p_ptr, stride, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    in_row = columns < n
    row = tl.program_id(0) * stride
    x = tl.load(x_ptr + row + columns, mask=in_row, other=NOTHING)
    weights = libdevice.exp(x - row_maximum(x))
    tl.store(p_ptr + row + columns, weights / tl.sum(weights, axis=0), mask=in_row)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):  # fmt: skip
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for first in range(0, k, K):
        inner = first + tl.arange(0, K)
        a = tl.load(a_ptr + rows[:, None] * k + inner[None, :], mask=inner[None, :] < k, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * n + columns[None, :], mask=inner[:, None] < k, other=0.0)
        total += tl.dot(a, b)  # the line that the compiler refuses
    here = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(c_ptr.dtype.element_ty), mask=here)


def softmax(**options) -> Launch:
    signature = {"x_ptr": "*fp32", "p_ptr": "*fp32", "stride": "i32", "n": "i32"}
    return launch(softmax_kernel, signature, BLOCK=256, **options)


def matmul(m: int, n: int, k: int, signature: dict = HALF, divisible=(), **options) -> Launch:
    return launch(matmul_kernel, signature, divisible=divisible, M=m, N=n, K=k, **options)


def launch(kernel, signature, divisible=(), num_warps=4, num_stages=3, name="kernel", **constexprs) -> Launch:
    options = {"num_warps": num_warps, "num_stages": num_stages}
    return Launch(
        kernel, name, (1, 1, 1), signature, constexprs, options, divisible=frozenset(divisible)
    )  # fmt: skip


def vectors(kernel, **constexprs) -> Launch:
    """A launch of a kernel of x_ptr, y_ptr and perhaps n."""
    return launch(kernel, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, **constexprs)


def refusal(launched: Launch, target: int = 80) -> compiler.Budget:
    (budget,) = compile_launch(launched, targets=(target,))
    assert budget.error
    return budget


def line_with(kernel, text: str) -> int:
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


# budgets


def test_a_softmax_fits_both_gpus_without_spilling():
    ampere, hopper = compile_launch(softmax())
    assert [(b.target, b.device, b.error) for b in (ampere, hopper)] == [(80, "A100", ""), (90, "H100", "")]
    for budget in (ampere, hopper):
        assert 8 <= budget.registers <= 64
        assert budget.spill_bytes == 0
        assert 0 < budget.shared_bytes < 1024
        assert budget.occupancy == 1.0
        assert (budget.warps, budget.tensor_cores, budget.tma) == (4, "", False)


def test_products_run_on_the_tensor_cores_of_each_gpu():
    assert [b.tensor_cores for b in compile_launch(matmul(64, 64, 32))] == ["mma", "wgmma"]


def test_a_tile_too_large_for_the_registers_spills():
    for budget in compile_launch(matmul(128, 128, 64)):
        assert budget.registers > 200
        assert budget.spill_bytes > 0
        assert budget.occupancy <= 0.25
        assert budget.error == ""


def test_divisibility_lets_the_compiler_pipeline_its_loads():
    scattered = compile_launch(matmul(64, 64, 32), targets=(80,))[0]
    aligned = compile_launch(matmul(64, 64, 32, divisible=HALF), targets=(80,))[0]
    assert aligned.shared_bytes > scattered.shared_bytes


def test_shared_memory_beyond_one_gpus_limit_is_an_error_there_alone():
    ampere, hopper = compile_launch(matmul(64, 64, 128, divisible=HALF, num_stages=7))
    assert ampere.error.startswith(
        "A block of this kernel needs 192 KiB of shared memory. On sm_80 it can have 163 KiB: make M (now "
        "64), N (now 64) or K (now 128) smaller, or use fewer stages."
    )
    assert ampere.shared_bytes == 192 * 1024
    assert ampere.occupancy == 0.0
    assert hopper.error == ""


def test_a_tensor_descriptor_becomes_tma_on_hopper_only():
    @triton.jit
    def copy_kernel(x_ptr, y_ptr, n):
        x = tl.make_tensor_descriptor(x_ptr, shape=[n, 64], strides=[64, 1], block_shape=[64, 64])
        y = tl.make_tensor_descriptor(y_ptr, shape=[n, 64], strides=[64, 1], block_shape=[64, 64])
        y.store([0, 0], x.load([0, 0]))

    assert [b.tma for b in compile_launch(vectors(copy_kernel))] == [False, True]


# what travels


@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % 2 == 0})
@triton.jit
def heuristic_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i), mask=(i < n) | EVEN)


autotuned_kernel = triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])(heuristic_kernel)


@triton.jit
def square(x, factor: tl.constexpr = 2.0):
    return x * x * factor


@triton.jit
def apply_kernel(x_ptr, y_ptr, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr = 32):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, FUNCTION(tl.load(x_ptr + i)))


@triton.constexpr_function
def twice(size):
    return int(math.pow(2, 1)) * size


@triton.jit
def computed_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, twice(BLOCK))
    tl.store(y_ptr + i, tl.load(x_ptr + i))


@pytest.mark.parametrize(
    "launched",
    [
        vectors(autotuned_kernel, BLOCK=64, EVEN=True),
        vectors(apply_kernel, FUNCTION=square),
        vectors(computed_kernel, BLOCK=32),
    ],
    ids=["autotune and heuristics", "a function as a constant, defaults", "a function at compile time"],
)
def test_kernels_travel_with_what_they_refer_to(launched):
    assert compile_launch(launched, targets=(80,))[0].error == ""


def cell(source: str, name: str, above: int = 0) -> dict:
    """Run a notebook's cell the way Jupyter does: its text is in linecache and in no file."""
    text = "\n" * above + source
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace = {"__name__": "__main__", "triton": triton, "tl": tl, "torch": torch}
    exec(compile(text, name, "exec"), namespace)
    return namespace


CELL = """
SCALE = tl.constexpr(2.0)

@triton.jit
def scaled(x):
    return x * SCALE{broken}

@triton.jit
def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, scaled(tl.load(x_ptr + i, mask=i < n)), mask=i < n)
"""


def test_a_kernel_from_a_notebooks_cell_compiles():
    kernel = cell(CELL.format(broken=""), "<cell 1>")["scale_kernel"]
    assert compile_launch(vectors(kernel, BLOCK=64), targets=(80,))[0].error == ""


def test_an_error_in_a_helper_names_the_helpers_line_in_its_cell():
    kernel = cell(CELL.format(broken=" + tl.arange(0, 32)"), "<cell 2>", above=10)["scale_kernel"]
    found = refusal(vectors(kernel, BLOCK=64))
    assert (found.file, found.line) == ("<cell 2>", 16)
    assert found.text == "return x * SCALE + tl.arange(0, 32)"
    assert "sizes differ in dimension 0, 64 against 32" in found.error


def test_the_interpreters_own_kind_of_function_is_compiled_too(monkeypatch):
    from triton.runtime.interpreter import InterpretedFunction

    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert compile_launch(vectors(InterpretedFunction(computed_kernel.fn), BLOCK=16))[0].error == ""


def test_a_kernel_without_source_gets_a_sentence():
    from triton.runtime.interpreter import InterpretedFunction

    namespace: dict = {}
    exec("def typed(x_ptr):\n    pass", namespace)
    unreadable = object.__new__(InterpretedFunction)  # its constructor reads the source
    unreadable.fn = namespace["typed"]
    assert "The source of typed cannot be read" in refusal(launch(unreadable, {"x_ptr": "*fp32"})).error


def test_an_argument_that_no_kernel_can_take_gets_a_sentence():
    tensor = torch.zeros(1)
    assert "BLOCK of kernel is a Tensor" in refusal(vectors(computed_kernel, BLOCK=tensor)).error
    assert "gave its parameter BLOCK no value" in refusal(vectors(computed_kernel)).error


def test_a_launch_that_was_observed_compiles_as_it_is():
    from flashlearn.interpreter.route import observing

    kernel = cell(CELL.format(broken=""), "<cell 3>")["scale_kernel"]
    x, y = torch.randn(37), torch.empty(37)
    with observing() as (session, _):
        kernel[(1,)](x, y, 37, BLOCK=64)
    (seen,) = session.observation().launches
    assert [b.error for b in compile_launch(seen)] == ["", ""]


# refusals


@triton.jit
def add_entries(x, i, extras):
    return x + tl.load(extras[1] + i) * extras[0] if extras[2] is None else x


@triton.jit
def hooked_kernel(x_ptr, extras, HOOK: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, HOOK(tl.load(x_ptr + i), i, extras))


@pytest.mark.parametrize("extras", [(2.0, torch.zeros(64), None), (1, torch.zeros(65)[1:], None)])
def test_a_launch_with_a_tuple_and_a_function_for_it_compiles_as_it_is(extras):
    with observing() as (session, _):
        hooked_kernel[(1,)](torch.zeros(64), extras, HOOK=add_entries, BLOCK=64)
    for budget in compile_launch(session.launches[-1]):
        assert not budget.error and budget.registers


def test_a_tuple_whose_types_are_not_known_gets_a_sentence():
    launch = Launch(hooked_kernel, "hooked_kernel", (1, 1, 1), {"x_ptr": "*fp32", "extras": "tuple"}, {}, {})
    with pytest.raises(packing.PackingError, match="extras of hooked_kernel is a tuple"):
        packing.pack(launch)


def test_an_inner_dimension_below_sixteen_is_refused_with_the_learners_line():
    found = refusal(matmul(32, 32, 8))
    assert "K >= 16" in found.error
    assert found.line == line_with(matmul_kernel, "the line that the compiler refuses")
    assert found.file == __file__
    assert found.text.startswith("total += tl.dot(a, b)")
    assert found.registers is None


def test_a_product_of_two_dtypes_is_refused_with_both_names():
    found = refusal(matmul(32, 32, 32, signature={**HALF, "b_ptr": "*fp32"}))
    assert "fp16 and fp32" in found.error


@triton.jit
def plain_global_kernel(x_ptr, y_ptr, n):
    tl.store(y_ptr, tl.load(x_ptr) + PLAIN)


@triton.jit
def torch_kernel(x_ptr, y_ptr, n):
    tl.store(y_ptr, torch.exp(tl.load(x_ptr)))


def in_python(x):
    return x


@triton.jit
def python_kernel(x_ptr, y_ptr, n):
    tl.store(y_ptr, in_python(tl.load(x_ptr)))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (plain_global_kernel, "the global `PLAIN`"),
        (torch_kernel, "the module torch, which runs in Python"),
        (python_kernel, "`in_python`, a Python function: decorate it"),
    ],
)
def test_what_the_interpreter_allows_and_a_gpu_does_not_is_named(kernel, words):
    assert words in refusal(vectors(kernel)).error


@pytest.mark.parametrize(
    ("kind", "message", "words"),
    [
        ("CompilationError", "arange's range must be a power of 2", "powers of two"),
        ("CompilationError", "arange's arguments must be of type tl.constexpr", "`name: tl.constexpr`"),
        ("CompilationError", "NameError('x is not defined')", "`x` is not defined here"),
        (
            "CompilationError",
            "AssertionError(\"Loop-carried variable m has initial type fp32 but is re-assigned to <['64'], "
            'fp32> in loop! Please make sure that the type stays consistent.")',
            "`m` enters the loop as fp32 and leaves it as fp32 (64,)",
        ),
        (
            "CompilationError",
            "type fp8e4nv not supported in this architecture. The supported fp8 dtypes are "
            "('fp8e4b15', 'fp8e5')",
            "An A100 (sm_80) has no fp8e4nv; its fp8 dtypes are fp8e4b15, fp8e5.",
        ),
        ("CompileTimeAssertionFailure", "TODO tour: load the row", "TODO tour: load the row"),
        (
            "UnsupportedLanguageConstruct",
            "unsupported AST node type: Yield",
            "this kind of statement (Yield)",
        ),
        ("RuntimeError", "PassManager::run failed", "The compiler itself failed"),
        (
            "PTXASError",
            "PTXAS error: `ptxas` stderr:\nptxas fatal   : (C7602) Insufficient registers (32) to compile "
            "instruction at line 7 in function k. Try 58.\nptxas fatal   : Ptx assembly aborted",
            "(Insufficient registers (32) to compile instruction. Try 58)",
        ),
        ("CompilationError", "ValueError('something unheard of')", "refuses this: something unheard of."),
        ("CompilationError", "at 5:10:\ndef kernel(a):", "does not say why"),
    ],
)
def test_a_compilers_words_become_a_sentence(kind, message, words):
    said = explain.sentence(kind, message, "A100 (sm_80)", {})
    assert words in said
    assert "\n" not in said


# the child


def test_what_was_compiled_before_needs_no_child(monkeypatch):
    first = compile_launch(softmax())
    monkeypatch.setattr(processes.subprocess, "Popen", None)
    assert compile_launch(softmax()) == first


@pytest.fixture
def forgetful(monkeypatch):
    """Nothing was compiled before in this process."""
    monkeypatch.setattr(compiler, "_known", {})


def test_a_compilation_out_of_time_is_stopped_and_says_so(forgetful):
    for budget in compile_launch(softmax(), timeout=0.05):
        assert f"for an {budget.device} (sm_{budget.target}) took longer than 0.05 s" in budget.error
    assert not processes.running
    assert not compiler._known  # it may be given more time


@pytest.mark.slow
def test_a_tile_that_compiles_for_minutes_is_stopped_in_time(forgetful):
    single = {name: kind.replace("fp16", "fp32") for name, kind in HALF.items()}
    assert "took longer than 2 s" in refusal_within(matmul(256, 256, 64, signature=single), 2.0)
    assert not processes.running


def refusal_within(launched: Launch, timeout: float) -> str:
    return compile_launch(launched, targets=(80,), timeout=timeout)[0].error


def fake_python(tmp_path, monkeypatch, script: str) -> None:
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(path))


def test_a_compiler_that_crashes_is_a_sentence(tmp_path, monkeypatch, forgetful):
    fake_python(tmp_path, monkeypatch, "kill -SEGV $$")
    assert "The compiler itself failed on this kernel for an A100 (sm_80)" in refusal(softmax()).error


def test_a_child_that_cannot_start_is_a_sentence(tmp_path, monkeypatch, forgetful):
    fake_python(tmp_path, monkeypatch, "echo 'No module named triton' >&2; exit 1")
    assert "could not start: No module named triton" in refusal(softmax()).error


def test_the_child_never_imports_torch(tmp_path, monkeypatch, forgetful):
    (tmp_path / "torch.py").write_text("raise SystemExit('imported torch')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    assert [b.error for b in compile_launch(softmax())] == ["", ""]


def test_a_cache_that_cannot_be_written_to_is_done_without(monkeypatch, forgetful):
    monkeypatch.setenv("TRITON_CACHE_DIR", "/proc/no/such/folder")
    assert [b.error for b in compile_launch(softmax())] == ["", ""]


# in the background


def test_budgets_come_in_the_order_of_the_launches_and_equal_ones_once(monkeypatch):
    monkeypatch.setattr(device, "present", lambda: None)
    unreadable = launch(computed_kernel, {"x_ptr": "*fp32"}, name="unreadable")
    budgets = start([softmax(), unreadable, softmax()]).result(timeout=60)
    assert [(b.kernel, b.target) for b in budgets] == [
        ("kernel", 80),
        ("kernel", 89),
        ("kernel", 90),
        ("unreadable", 80),
        ("unreadable", 89),
        ("unreadable", 90),
    ]
    assert [bool(b.error) for b in budgets] == 3 * [False] + 3 * [True]


def test_an_error_in_the_background_reaches_whoever_asks(monkeypatch, forgetful):
    def broken(*_):
        raise OSError("no more processes")

    monkeypatch.setattr(child, "run_worker", broken)
    with pytest.raises(OSError, match="no more processes"):
        start([softmax()]).result(timeout=10)


def test_a_job_is_plain_data_and_holds_only_what_is_mentioned():
    job = packing.pack(softmax())
    assert [f["name"] for f in job["functions"]] == ["softmax_kernel", "row_maximum"]
    assert job["functions"][0]["names"] == {
        "NOTHING": {"constexpr": -math.inf},
        "libdevice": {"module": "triton.language.extra.libdevice"},
        "row_maximum": {"function": 1},
        "tl": {"module": "triton.language"},
        "triton": {"module": "triton"},
    }


def test_who_waits_for_an_answer_passes_what_runs_in_the_background(monkeypatch, forgetful):
    entered, release = threading.Semaphore(0), threading.Event()

    def held_back(job, turn, patient):
        with turn:
            if patient:
                entered.release()
                release.wait()
            return {}, "nothing came from {device}"

    monkeypatch.setattr(child, "run_worker", held_back)
    kernels = [softmax(num_warps=1 << n) for n in range(5)]
    waiting = [start([one]) for one in kernels[:4]]
    for _ in range(child.BACKGROUND_SLOTS):
        entered.acquire()
    assert compile_launch(kernels[4])[0].error.startswith("nothing came"), "and it did not wait"
    assert not any(future.done() for future in waiting)
    release.set()
    assert all(future.result(timeout=60) for future in waiting)


def test_in_the_background_the_newest_card_comes_first():
    queue, order = child.CompileQueue(slots=1), []

    def work(number):
        with queue.background(number):
            order.append(number)

    with queue.foreground():
        threads = [threading.Thread(target=work, args=(number,)) for number in (0, 2, 1)]
        for thread in threads:
            thread.start()
        while len(queue._waiting) < len(threads):
            pass
        assert order == [], "nothing begins while somebody waits for an answer"
    for thread in threads:
        thread.join()
    assert order == [2, 1, 0]


def test_what_runs_in_the_background_has_a_lower_priority(monkeypatch, forgetful):
    priorities = []
    lower_priority = child._lower_priority

    def noted(process):
        lower_priority(process)
        priorities.append(os.getpriority(os.PRIO_PROCESS, process.pid))

    monkeypatch.setattr(child, "_lower_priority", noted)
    assert [b.error for b in start([softmax()]).result(timeout=240)] == ["", "", ""]
    assert priorities == [min(os.getpriority(os.PRIO_PROCESS, 0) + child.NICE, 19)]
