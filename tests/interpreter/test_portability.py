"""What passes here would fail there: loops that compilers refuse, and cautions on what no compiler says."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.compiler import compile_launch, explain, heavy_tiles
from flashlearn.course.answers import solution
from flashlearn.exercise import Case, Exercise, HowJudged, Kind
from flashlearn.interpreter import index_overflow
from flashlearn.interpreter.errors import KernelCrash
from flashlearn.interpreter.route import observing
from flashlearn.judging import real_sizes
from flashlearn.judging.cases import run, run_observed
from flashlearn.judging.references import largest
from flashlearn.judging.tf32 import Tf32Products
from flashlearn.judging.tolerance import Truth
from flashlearn.kernels import flash_forward as forward
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.lessons import all_exercises, find
from flashlearn.observation import Observation
from flashlearn.outcome import Caution, Outcome, Place, Status
from flashlearn.report import Report
from flashlearn.running.answer import Here
from flashlearn.running.values import as_tuple
from tests.interpreter import loop_kernels

LOOPS = [function.__name__ for function in loop_kernels.KERNELS]
FEW = 3  # the smallest cases of a solution are run here; their own lessons' tests run all


def cautions(launch, *arguments, **more) -> list[Caution]:
    """What an observed launch warns of."""
    with observing(seed=0) as (session, _):
        launch(*arguments, **more)
    return session.observation().warnings


def kinds(found: list[Caution]) -> list[str]:
    return [caution.kind for caution in found]


# loops and branches


@functools.cache
def compiler() -> dict[str, str]:
    """What triton's compiler says of each kernel of the table, asked in a process of its own."""
    path = Path(loop_kernels.__file__)
    environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def refusal(name: str) -> KernelCrash | None:
    """What the observer says of a kernel of the table."""
    try:
        with observing(seed=0):
            getattr(loop_kernels, name)[(2,)](torch.ones(64), torch.zeros(64), 16, N=16)
    except KernelCrash as error:
        return error
    return None


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_the_observer_refuses_a_loop_or_branch_exactly_where_the_compiler_does(name: str):
    said = refusal(name)
    assert (said is not None) == bool(compiler()[name]), compiler()[name] or said


@pytest.mark.slow
def test_the_table_of_loops_has_both_kinds():
    refused = [name for name in LOOPS if compiler()[name]]
    assert len(refused) >= 15 and len(LOOPS) - len(refused) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LOOPS if name != "helper_whose_loop_widens"])
def test_what_the_compiler_says_of_a_loop_or_branch_is_put_into_words(name: str):
    message = compiler()[name]
    if message:
        said = explain.sentence("CompilationError", message, "H100 (sm_90)", {})
        assert "refuses this" not in said and "AssertionError" not in said and said.endswith(".")


def test_a_refused_loop_names_the_variable_its_types_and_the_line_that_changes_it():
    said = refusal("accumulator_cast_to_half")
    assert "`acc` enters the loop in line" in said.sentence
    assert "as fp32 (16,) and leaves it as fp16 (16,)" in said.sentence
    assert said.place.text.strip() == "acc = (acc + tl.load(x_ptr + i)).to(tl.float16)"


def test_pointers_that_become_offsets_are_told_to_add_them():
    said = refusal("pointers_replaced_by_offsets")
    assert "`at` enters the loop in line" in said.sentence and "tl.zeros" not in said.sentence
    assert "It holds addresses at first: add to them what moves them" in said.sentence


def test_lanes_that_become_a_number_are_told_to_be_replaced():
    said = refusal("lanes_replaced_by_a_number")
    assert "puts a single number in the place of its lanes" in said.sentence


def test_a_sum_that_begins_in_half_precision_is_refused_at_its_beginning():
    said = refusal("half_accumulator_of_fp32_sums")
    assert "enters the loop in line" in said.sentence and "Let it begin in fp32, in line" in said.sentence
    assert said.place.text.strip() == "acc = tl.zeros((N,), tl.float16)"


def test_a_loop_that_does_not_run_is_not_judged():
    with observing(seed=0) as (session, _):
        loop_kernels.accumulator_cast_to_half[(1,)](torch.ones(64), torch.zeros(64), 0, N=16)
    assert [launch.name for launch in session.launches] == ["accumulator_cast_to_half"]


@triton.jit
def one_is_a_constant(y_ptr, n):
    x = 0
    if n == 1:
        x = 0.5
    tl.store(y_ptr, x)


def test_a_branch_on_an_argument_that_is_1_is_settled_when_compiling():
    y = torch.zeros(1)
    with observing(seed=0):
        one_is_a_constant[(1,)](y, 1)
    assert y.item() == 0.5


def test_a_refused_loop_is_a_crash_with_its_line_in_a_check():
    scale = find("scaled_add")

    @triton.jit
    def kernel(x_ptr, y_ptr, z_ptr, a, n, N: tl.constexpr):
        i = tl.program_id(0) * N + tl.arange(0, N)
        z = 0.0
        for _ in range(0, 1):
            z = z + a * tl.load(x_ptr + i, mask=i < n, other=0.0) + tl.load(y_ptr + i, mask=i < n, other=0.0)
        tl.store(z_ptr + i, z, mask=i < n)

    def launcher(*arguments):
        a = next(v for v in arguments if not torch.is_tensor(v))
        x, y = (v for v in arguments if torch.is_tensor(v))
        z = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 64),)](x, y, z, a, x.numel(), N=64)
        return z

    outcome = run_observed(scale, launcher, scale.cases[0])
    assert outcome.status is Status.CRASHED
    assert "`z` enters the loop" in outcome.message and "z = z + a" in outcome.place.text


# TF32


@triton.jit
def product(a_ptr, b_ptr, c_ptr, N: tl.constexpr, PRECISION: tl.constexpr = None):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    c = tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at), input_precision=PRECISION)
    tl.store(c_ptr + at, c)


def square(dtype=torch.float32) -> list[torch.Tensor]:
    return [torch.ones(16, 16, dtype=dtype), torch.ones(16, 16, dtype=dtype), torch.empty(16, 16)]


def test_an_fp32_product_warns_of_tf32_with_its_line():
    (said,) = cautions(product[(1,)], *square(), N=16)
    assert said.kind == "TF32" and "10" in said.sentence and 'input_precision="ieee"' in said.sentence
    assert "tl.dot" in said.place.text


@pytest.mark.parametrize("precision", ["ieee", "tf32x3"])
def test_a_product_that_asks_for_more_than_tf32_does_not_warn(precision: str):
    assert cautions(product[(1,)], *square(), N=16, PRECISION=precision) == []


def test_a_product_of_half_precision_tiles_does_not_warn():
    assert cautions(product[(1,)], *square(torch.float16), N=16) == []


def test_the_emulated_product_drops_thirteen_bits_of_each_operand():
    a = torch.tensor([[1 + 2.0**-10, 1 + 2.0**-11, -(1 + 2.0**-10 + 2.0**-23), float("inf")]])
    with Tf32Products():
        products = [(a[:, i : i + 1] @ torch.ones(1, 1)).item() for i in range(4)]
    assert products == [1 + 2.0**-10, 1.0, -(1 + 2.0**-10), float("inf")]
    assert (a[:, 1:2] @ torch.ones(1, 1)).item() == 1 + 2.0**-11


def test_a_product_in_tf32_is_accepted_against_its_twin_and_not_without():
    exercise = find("tiled_matmul")
    case = next(case for case in exercise.cases if case.dtype == torch.float32 and not case.gpu)
    inputs = exercise.inputs(case, case.generator())
    with Tf32Products():
        got = exercise.reference(**inputs)
    assert not Truth(exercise, inputs).judge(0, got).ok
    assert Truth(exercise, inputs, tf32=True).judge(0, got).ok


@pytest.mark.parametrize("name", ["flash_forward", "dq_kernel", "dkv_kernel"])
def test_mistakes_of_more_than_one_per_cent_are_rejected_at_tf32s_tolerance_too(name: str):
    exercise = find(name)
    case = next(case for case in exercise.cases if case.dtype == torch.float32 and case.sizes["S_k"] == 37)
    inputs = exercise.inputs(case, case.generator())
    exact, wide = Truth(exercise, inputs), Truth(exercise, inputs, tf32=True)
    judged = 0
    for mistake in (m for m in exercise.explained.mistakes.values() if m.wrong is not None):
        outputs = as_tuple(mistake.wrong(**inputs))
        for i, out in enumerate(outputs):
            if out.shape != exact.expected[i].shape:
                continue
            out = out.to(exact.dtypes[i])
            if exact.judge(i, out).error > 0.01 * largest(exact.expected[i]):
                judged += 1
                assert not wide.judge(i, out).ok, mistake.sentence
    assert judged >= 3


# 64-bit offsets


def narrowed(tmp_path: Path, remove: str):
    """The course's own forward launcher with something taken out of its kernels' source."""
    path = tmp_path / "narrowed.py"
    path.write_text(inspect.getsource(forward).replace(remove, ""))
    namespace = {"__name__": "narrowed", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace["flash_forward"]


def test_a_head_offset_in_32_bits_warns_with_the_line_that_overflows(tmp_path):
    said = real_sizes.check_offset_range(find("flash_forward"), Here(narrowed(tmp_path, ".to(tl.int64)")))
    assert said.kind == "32-bit offset" and "B 32, H 16, S 65536, D 128" in said.sentence
    assert "b * q_batch + h * q_head" in said.place.text


def test_offsets_that_fit_need_no_64_bits(tmp_path):
    exercise = find("flash_forward")
    launcher = narrowed(tmp_path, ".to(tl.int64)")
    inputs = exercise.inputs(exercise.cases[0], exercise.cases[0].generator())
    small = index_overflow.spread(inputs, {"B": 4, "H": 8, "S": 1024, "D": 64})
    assert index_overflow.attempt(lambda: launcher(**small)) == (None, [])


WITH_REAL_SIZES = [name for name, exercise in all_exercises().items() if exercise.judged.real_sizes]


def test_the_attention_exercises_of_lessons_06_to_08_have_real_sizes():
    assert {find(name).lesson for name in WITH_REAL_SIZES} >= {"06", "07", "08"}


@pytest.mark.parametrize("name", WITH_REAL_SIZES)
def test_the_courses_own_offsets_fit_at_real_sizes(name: str):
    exercise = find(name)
    assert real_sizes.check_offset_range(exercise, Here(solution(exercise), exercise)) is None
    for inputs, _ in real_sizes.large_inputs(exercise):
        ended, _ = index_overflow.attempt(lambda inputs=inputs: solution(exercise)(**inputs))
        assert ended is None, "the experiment did not run"


@triton.jit
def hashed(x_ptr, y_ptr, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    noise = (i * 1103515245 + 12345) % 7
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) + noise, mask=i < n)


def test_an_overflow_that_no_address_sees_is_no_offset():
    x = torch.empty(1000, device="meta")
    launch = functools.partial(hashed[(8,)], x, torch.empty_like(x), 1000, N=128)
    ended, overflows = index_overflow.attempt(launch)
    assert ended is None and overflows, "it wraps round, and no address is wrong"


# hidden lanes


@triton.jit
def row_maximum(x_ptr, y_ptr, n, N: tl.constexpr, GUARD: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * n + i, mask=i < n)
    if GUARD:
        x = tl.where(i < n, x, -float("inf"))
    tl.store(y_ptr + tl.program_id(0), tl.max(x, axis=0))


def maxima(guard: bool) -> tuple[Exercise, object]:
    def launcher(x):
        y = torch.empty(x.shape[0])
        row_maximum[(x.shape[0],)](x, y, x.shape[1], N=16, GUARD=guard)
        return y

    exercise = Exercise(
        name="maxima",
        lesson="00",
        kind=Kind.KERNEL,
        title="maxima",
        signature="(x)",
        outputs=("y",),
        inputs=lambda case, generator: {"x": torch.randn(4, 11, generator=generator)},
        cases=(Case("4 × 11"),),
        judged=HowJudged(lambda x: x.max(dim=1).values),
    )
    return exercise, launcher


def test_a_maximum_over_hidden_lanes_warns_though_it_was_right():
    exercise, launcher = maxima(guard=False)
    (outcome,) = [o for o in run(exercise, launcher, compiled=False) if o.warnings]
    assert outcome.status is Status.PASS
    assert kinds(outcome.warnings) == ["masked load without other"]
    assert "x_ptr is loaded under a mask without other=" in outcome.warnings[0].sentence
    assert "tl.load" in outcome.warnings[0].place.text


def test_hidden_lanes_that_a_where_replaces_do_not_warn():
    exercise, launcher = maxima(guard=True)
    outcomes = run(exercise, launcher, compiled=False)
    assert {o.status for o in outcomes} == {Status.PASS}
    assert not any(o.warnings for o in outcomes)


# memory


@triton.jit
def adds_up(x_ptr, total_ptr, ATOMIC: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0))
    if ATOMIC:
        tl.atomic_add(total_ptr, x)
    else:
        tl.store(total_ptr, tl.load(total_ptr) + x)


@pytest.mark.parametrize("atomic", [True, False])
def test_a_sum_that_begins_in_torch_empty_is_uninitialised_memory(atomic: bool):
    def launcher(x):
        adds_up[(1,)](x, torch.empty(1), ATOMIC=atomic)

    (said,) = cautions(launcher, torch.ones(1))
    assert said.kind == "uninitialised memory"
    assert "total_ptr[0], where nothing was written yet" in said.sentence
    assert "total_ptr" in said.place.text


def test_what_the_course_s_launcher_allocates_is_no_advice_to_the_learner():
    x = torch.ones(1, 1, 8, 16)

    def hands_too_few_blocks():
        o, _ = hooked_forward(x, x, x, 1.0, block=16, lengths=(1, 0, 8))
        delta_preprocess(o, x)

    def allocates():
        delta_preprocess(torch.empty_like(x), x)

    assert kinds(cautions(hands_too_few_blocks)) == []
    assert kinds(cautions(allocates)) == ["uninitialised memory"]


def test_a_sum_that_begins_in_torch_zeros_is_fine():
    assert cautions(lambda x: adds_up[(1,)](x, torch.zeros(1), ATOMIC=True), torch.ones(1)) == []


@triton.jit
def writes(y_ptr, DIFFERENT: tl.constexpr):
    tl.store(y_ptr, tl.program_id(0) * DIFFERENT)


def test_two_programs_that_write_the_same_value_are_a_note_and_no_race():
    with observing(seed=0) as (session, _):
        writes[(3,)](torch.zeros(1, dtype=torch.int32), DIFFERENT=0)
    assert not session.memory.races.found
    (said,) = session.observation().warnings
    assert said.kind == "same value written twice" and "y_ptr[0]" in said.sentence


def test_a_line_that_races_is_not_called_harmless_as_well():
    with observing(seed=0) as (session, _):
        writes[(3,)](torch.zeros(1, dtype=torch.int32), DIFFERENT=1)
    assert session.memory.races.found
    assert session.observation().warnings == []


@triton.jit
def through_memory(x_ptr, y_ptr, scratch_ptr, N: tl.constexpr, BARRIER: tl.constexpr, OTHER: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(scratch_ptr + i, tl.load(x_ptr + i))
    if BARRIER:
        tl.debug_barrier()
    order = N - 1 - i if OTHER else i
    tl.store(y_ptr + i, tl.load(scratch_ptr + order))


@pytest.mark.parametrize(
    "barrier, other, warned", [(False, True, True), (True, True, False), (False, False, False)]
)
def test_lanes_that_read_each_others_stores_warn_unless_a_barrier_stands_between(barrier, other, warned):
    x = torch.arange(16.0)
    found = cautions(through_memory[(1,)], x, torch.empty(16), torch.empty(16), N=16, BARRIER=barrier,
                     OTHER=other)  # fmt: skip
    assert kinds(found) == ["memory shared without a barrier"] * warned


# the course's own kernels raise nothing of all this


KERNELS = [name for name, exercise in all_exercises().items() if exercise.kind is Kind.KERNEL]


def smallest(exercise: Exercise, count: int) -> list[Case]:
    """The cases with the fewest numbers in their inputs, more than one where there is a choice."""

    def size(case: Case) -> int:
        given = exercise.inputs(case, case.generator())
        return sum(x.numel() for x in given.values() if torch.is_tensor(x))

    cases = [case for case in exercise.cases if not case.gpu]
    return sorted(cases, key=lambda case: (max(case.sizes.values(), default=2) < 2, size(case)))[:count]


@pytest.mark.parametrize("name", KERNELS)
def test_the_courses_own_solutions_raise_no_caution(name: str):
    exercise = find(name)
    for case in smallest(exercise, FEW):
        outcome = run_observed(exercise, solution(exercise), case)
        assert outcome.status is Status.PASS, outcome.message
        assert [str(caution) for caution in outcome.warnings] == []


# what the compiler found scarce


@triton.jit
def large_product(a_ptr, b_ptr, c_ptr, N: tl.constexpr, K: tl.constexpr):
    i, k = tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((N, N), tl.float32)
    for _ in range(0, 4):
        a = tl.load(a_ptr + i[:, None] * K + k[None, :])
        b = tl.load(b_ptr + k[:, None] * N + i[None, :])
        acc += tl.dot(a, b)
    tl.store(c_ptr + i[:, None] * N + i[None, :], acc)


def large(warps: int):
    with observing(seed=0) as (session, _):
        a, b = torch.ones(128, 64, dtype=torch.float16), torch.ones(64, 128, dtype=torch.float16)
        large_product[(1,)](a, b, torch.empty(128, 128), N=128, K=64, num_warps=warps)
    return compile_launch(session.launches[0], targets=(80,), timeout=120.0)[0]


@pytest.mark.slow
def test_spilled_registers_name_the_largest_tile_and_its_line():
    few = large(warps=2)
    assert few.error == "" and few.spill_bytes > 0
    assert f"{few.spill_bytes} bytes of each thread found no register" in few.advice
    assert "fp32 (128, 128) in this line, takes 256 of them by itself" in few.advice
    assert few.text == "acc += tl.dot(a, b)"


@pytest.mark.slow
def test_a_kernel_with_registers_to_spare_gets_no_advice():
    assert large(warps=8).advice == ""


IR = """
#loc3 = loc("<shipped 0>":51:23)
#loc4 = loc("/usr/lib/triton/language/standard.py":9:1)
#loc5 = loc("a"(#loc3))
#loc6 = loc(callsite(#loc4 at #loc5))
  %a = ttg.local_alloc : () -> !ttg.memdesc<6x64x128xf16, #shared, #smem, mutable> loc(#loc6)
  %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf32, #shared, #smem, mutable> loc(#loc4)
"""


def test_a_tiles_line_is_the_learners_even_inside_a_library_call():
    tile = heavy_tiles.largest(IR)["shared"]
    assert (tile.words, tile.bytes, tile.function, tile.line) == ("6 × fp16 (64, 128)", 98304, 0, 51)


def test_too_many_warps_are_not_blamed_on_a_buffer():
    error = "The kernel asks for 64 warps."
    assert explain.resource_shortage(error, {}, 64, heavy_tiles.largest(IR)) == (error, None)


def test_where_no_line_is_sure_only_the_kernel_is_spoken_of():
    said, tile = explain.resource_shortage("", {"REG": 255, "STACK": 64}, 4, heavy_tiles.largest(""))
    assert tile is None and "64 bytes of each thread" in said and "this line" not in said


# the report


def test_a_green_report_shows_a_caution_with_its_line():
    place = Place(__file__, 1, '"""What passes here would fail there"""', "kernel")
    said = Caution("TF32", "A GPU multiplies in TF32.", place)
    exercise = find("scaled_add")
    outcomes = tuple(
        Outcome(case, Status.PASS, warnings=(said,), observation=Observation()) for case in exercise.cases[:2]
    )
    report = Report(exercise=exercise, outcomes=outcomes, finding=None, timing=None, budgets=None,
                    mode="observed", demo=True, seconds=0.1, hints_taken=0)  # fmt: skip
    for shown in (str(report), report._repr_html_()):
        assert shown.count("A GPU multiplies in TF32.") == 1
        assert "Line 1 of kernel in test_portability.py" in shown


def test_every_kernel_of_the_table_is_a_function_that_the_compiler_can_read():
    tree = ast.parse(Path(loop_kernels.__file__).read_text())
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert set(LOOPS) <= named
