"""Lesson 05: right kernels and formulas pass in any spelling, and the machine's figures hold together."""

from __future__ import annotations

import dataclasses

import pytest
import sympy as sp
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn import compiler
from flashlearn.compiler.listing import assemble, counts, listing, widths
from flashlearn.exercise import Kind
from flashlearn.judging import symbolic
from flashlearn.judging.cases import run
from flashlearn.judging.references import convert, largest_error
from flashlearn.judging.tolerance import Truth
from flashlearn.kernels.matmul import tiled_matmul, tiled_matmul_kernel
from flashlearn.kernels.tour import row_sum, scaled_add
from flashlearn.lessons import find
from flashlearn.lessons.lesson_05_execution_model import (
    compiled_budget,
    machine_pictures,
    matmul_traffic,
    probes,
    storing_pictures,
    traffic_pictures,
)
from flashlearn.lessons.lesson_05_execution_model.block_budget import block_budget
from flashlearn.lessons.shared.variants import variant
from flashlearn.machine import device
from flashlearn.outcome import Status
from flashlearn.running.values import as_tuple
from tests.reviewing import reviewed

MATMUL, TRAFFIC, BUDGET = (find(name) for name in ("tiled_matmul", "matmul_traffic", "budget"))


def statuses(exercise, function):
    """The verdicts of all cases that run on a CPU."""
    judge = symbolic.run_symbolic if exercise.kind is Kind.SYMBOLIC else run
    options = {} if judge is symbolic.run_symbolic else {"compiled": False}
    return {o.status for o in judge(exercise, function, **options)}


# ---------------------------------------------------------------- tiled_matmul


@triton.jit
def advancing_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, FUSED: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK)
    in_rows, in_columns = (rows < M)[:, None], (columns < N)[None, :]
    a_ptrs = a_ptr + rows[:, None] * a_row + inner[None, :] * a_col
    b_ptrs = b_ptr + inner[:, None] * b_row + columns[None, :] * b_col
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        a = tl.load(a_ptrs, mask=in_rows & (inner < K - start)[None, :], other=0.0)
        b = tl.load(b_ptrs, mask=in_columns & (inner < K - start)[:, None], other=0.0)
        if FUSED:
            acc = tl.dot(a, b, acc, input_precision="ieee")
        else:
            acc += tl.sum(a.to(tl.float32)[:, :, None] * b.to(tl.float32)[None, :, :], axis=1)
        a_ptrs += BLOCK * a_col
        b_ptrs += BLOCK * b_row
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=in_rows & in_columns)


@pytest.mark.parametrize("fused", [True, False])
def test_a_right_product_passes_in_any_spelling(fused):
    def multiply(a, b):
        (M, K), N = a.shape, b.shape[1]
        c = torch.empty((M, N), dtype=a.dtype, device=a.device)
        grid = (triton.cdiv(N, 16), triton.cdiv(M, 16))
        advancing_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), FUSED=fused, BLOCK=16)
        return c

    assert statuses(MATMUL, multiply) == {Status.PASS}


@pytest.mark.parametrize("name", [n for n, m in MATMUL.explained.mistakes.items() if m.wrong])
def test_every_wrong_formula_misses_some_case_by_ten_times_what_is_allowed(name):
    worst = 0.0
    for case in MATMUL.cases:
        if not case.gpu:
            inputs = MATMUL.inputs(case, case.generator())
            truth = Truth(MATMUL, inputs)
            wrong = as_tuple(MATMUL.explained.mistakes[name].wrong(**convert(inputs, torch.float64)))[0]
            error = largest_error(wrong.to(case.dtype), truth.expected[0])
            worst = max(worst, error / max(truth.allowed(0)[0], 1e-9))
    assert worst > 10


def test_cases_are_ragged_in_each_dimension_alone_and_in_all_together():
    blocks = (32, 64, 16)  # BLOCK_M, BLOCK_N and BLOCK_K of the launcher
    ragged = {
        tuple(bool(c.sizes[name] % block) for name, block in zip("MNK", blocks, strict=True))
        for c in MATMUL.cases
    }
    assert {(False, False, False), (True, True, True), (True, True, False)} <= ragged


def test_the_views_have_other_strides_than_their_copies():
    views = [c for c in MATMUL.cases if not c.gpu and c.layout != "contiguous"]
    kinds = set()
    for case in views:
        inputs = MATMUL.inputs(case, case.generator())
        kinds |= {(name, t.stride(1) == 1) for name, t in inputs.items() if not t.is_contiguous()}
    assert kinds == {("a", True), ("a", False), ("b", True), ("b", False)}


# ---------------------------------------------------------------- matmul_traffic


def cdiv(a, b):
    return (a + b - 1) // b


RIGHT_FORMULAS = {
    "expanded": lambda M, N, K, BM, BN, BK, e: sp.expand(matmul_traffic.traffic(M, N, K, BM, BN, BK, e)),
    "factored": lambda M, N, K, BM, BN, BK, e: (
        e * K * (M * sp.ceiling(N / BN) + N * sp.ceiling(M / BM)) + e * M * N
    ),
    "floor of the negative": lambda M, N, K, BM, BN, BK, e: (
        e * (M * K * -(-N // BN) + K * N * -(-M // BM) + M * N)
    ),
    "cdiv": lambda M, N, K, BM, BN, BK, e: e * (M * K * cdiv(N, BN) + K * N * cdiv(M, BM) + M * N),
    "floor plus one": lambda M, N, K, BM, BN, BK, e: (
        e * (M * K * (sp.floor((N - 1) / BN) + 1) + K * N * (sp.floor((M - 1) / BM) + 1) + M * N)
    ),
    "remainders": lambda M, N, K, BM, BN, BK, e: (
        e * (M * K * (N + sp.Mod(-N, BN)) / BN + K * N * (M + sp.Mod(-M, BM)) / BM + M * N)
    ),
}

NEAR_MISSES = {
    "one block too many": lambda M, N, K, BM, BN, BK, e: (
        e * (M * K * (N // BN + 1) + K * N * cdiv(M, BM) + M * N)
    ),
    "rounded down": lambda M, N, K, BM, BN, BK, e: e * (M * K * (N // BN) + K * N * (M // BM) + M * N),
    "B by the blocks of K": lambda M, N, K, BM, BN, BK, e: (
        e * (M * K * cdiv(N, BN) + K * N * cdiv(M, BK) + M * N)
    ),
}


@pytest.mark.parametrize("name", RIGHT_FORMULAS)
def test_a_right_formula_passes_in_any_spelling(name):
    assert statuses(TRAFFIC, RIGHT_FORMULAS[name]) == {Status.PASS}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_refused_with_a_counterexample(name):
    outcomes = symbolic.run_symbolic(TRAFFIC, NEAR_MISSES[name])
    wrong = [o for o in outcomes if o.status is Status.WRONG]
    assert wrong and all("but it should be" in o.message for o in wrong)


@pytest.mark.parametrize("sizes", [(70, 100, 50), (1, 1, 1), (33, 64, 40), (64, 128, 48)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_formula_is_what_the_observer_counts(sizes, dtype):
    M, N, K = sizes
    with flashlearn.observing() as (session, _):
        tiled_matmul(torch.ones(M, K, dtype=dtype), torch.ones(K, N, dtype=dtype))
    seen = session.observation()
    blocks = [seen.launches[0].constexprs[name] for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K")]
    assert matmul_traffic.traffic(*map(sp.Integer, (*sizes, *blocks, dtype.itemsize))) == seen.bytes_requested
    assert seen.bytes_unique == dtype.itemsize * (M * K + K * N + M * N)


def test_the_formula_of_a_kernel_with_masks_passes_whatever_the_learner_s_own_kernel_requests(monkeypatch):
    from flashlearn.course import answers

    def twice(a, b):
        tiled_matmul(a, b)
        return tiled_matmul(a, b)

    monkeypatch.setattr(answers, "passed", {"tiled_matmul": twice})
    assert flashlearn.check("matmul_traffic", matmul_traffic.traffic, demo=True).passed


# ---------------------------------------------------------------- budget


def budget_by_hand(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """Python integers and floats, another order, rounding by math alone."""
    shared = size * buffers * block_k * (block_n + block_m)
    per_block = (registers + 7) // 8 * 8 * 32 * warps
    limits = [gpu.registers_per_sm // per_block, gpu.shared_per_sm // (1024 + shared), 32, 10**9]
    limits += [gpu.warps_per_sm // warps, gpu.blocks_per_sm]
    return block_m * block_n / (32 * warps), shared, min(limits) * warps / gpu.warps_per_sm


def test_a_right_budget_passes_in_plain_python():
    assert statuses(BUDGET, budget_by_hand) == {Status.PASS}


def test_the_reference_is_the_occupancy_calculator_s_answer():
    for case in BUDGET.cases:
        given = BUDGET.inputs(case, case.generator())
        _, shared, share = block_budget(**given)
        fits = device.occupancy(given["gpu"], int(given["registers"]), int(shared), int(given["warps"]))
        assert float(share) == pytest.approx(fits), case.name


def test_each_of_the_limits_is_the_smallest_somewhere():
    smallest = set()
    for case in BUDGET.cases:
        given = BUDGET.inputs(case, case.generator())
        gpu, warps = given["gpu"], given["warps"]
        _, shared, _ = block_budget(**given)
        limits = {
            "blocks": gpu.blocks_per_sm,
            "warps": gpu.warps_per_sm // warps,
            "registers": gpu.registers_per_sm // (-(-given["registers"] // 8) * 8 * 32 * warps),
            "shared": gpu.shared_per_sm // (shared + 1024),
        }
        least = [name for name, value in limits.items() if value == min(limits.values())]
        smallest |= set(least) if len(least) == 1 else set()
    assert smallest >= {"blocks", "warps", "registers", "shared"}


@pytest.mark.parametrize(("shape", "warps", "stages"), compiled_budget.COMPILED)
def test_the_compiler_agrees_with_the_lesson(shape, warps, stages):
    for made in compiled_budget.compiled_budgets(tiled_matmul, shape, warps, stages):
        assert not made.error
        gpu = device.for_target(made.target)
        numbers = (*shape, 2, compiled_budget.buffers_of(made, stages), warps, made.registers)
        accumulator, shared, share = block_budget(*map(sp.Integer, numbers), gpu)
        assert shared == made.shared_bytes and float(share) == made.occupancy
        assert accumulator < made.registers


def test_an_answer_that_only_knows_the_cases_is_told_the_compiler_s_figures():
    sentence = reviewed(BUDGET, lambda *given: (1, 2, 3))
    assert "the compiler says" in sentence and "your function says (1, 2, 3)" in sentence


# ---------------------------------------------------------------- the compiler's listings


def launch_of(function, *arguments, **options):
    with flashlearn.observing() as (session, _):
        function(*arguments, **options)
    return session.launches[-1]


def test_a_sum_within_one_warp_has_no_barrier_and_one_across_warps_does():
    narrow, wide = (counts(listing(launch_of(row_sum, torch.ones(2, n)))["ptx"]) for n in (32, 128))
    assert narrow["shfl.sync"] == 5 and narrow["bar.sync"] == 0
    assert wide["shfl.sync"] > 5 and wide["bar.sync"] > 0


def test_loads_are_wide_only_where_neighbours_are_aligned():
    x = torch.ones(8200)
    found = [
        set(widths(listing(launch_of(scaled_add, 2.0, v, v))["ptx"]))
        for v in (x[:4096], x[:8192:2], x[1:4097])
    ]
    assert found == [{16}, {4}, {4}]


def test_asynchronous_copies_count_as_loads():
    a = torch.zeros(2, 16, 16, dtype=torch.float16)
    launch = launch_of(tiled_matmul, *a, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4, num_stages=3)
    assert set(widths(listing(launch, target=80)["ptx"])) == {16}


def test_the_assembler_refuses_64_kib_that_are_declared():
    kernel = (
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry f() {{ .shared .b8 tile[{}];"
        ".reg .b32 v; mov.u32 v, tile; st.shared.b32 [v], v; ret; }}"
    )
    assert "0xc000 max" in assemble(kernel.format(65536))
    assert assemble(kernel.format(49152)) == ""


def test_the_spill_that_the_lesson_shows_is_real():
    for made in compiled_budget.compiled_budgets(tiled_matmul, (128, 256, 32), warps=4, stages=2):
        assert made.registers == 255 and made.spill_bytes > 0
    roomy = compiled_budget.compiled_budgets(tiled_matmul, (128, 256, 32), warps=8, stages=2)
    assert [made.spill_bytes for made in roomy] == [0, 0]


# ---------------------------------------------------------------- figures and pictures


def test_the_clock_that_a_data_sheet_implies_is_a_gpu_s_clock():
    assert machine_pictures.clock(device.GPUS["A100"]) == pytest.approx(1.41e9, rel=0.01)
    assert machine_pictures.clock(device.GPUS["H100"]) == pytest.approx(1.98e9, rel=0.01)


def test_levels_grow_slower_outwards():
    levels = machine_pictures.levels(device.GPUS["H100"], probes.SAVED)
    assert [x.bandwidth for x in levels] == sorted((x.bandwidth for x in levels), reverse=True)
    assert [x.latency for x in levels] == sorted(x.latency for x in levels)


def test_sectors_are_those_of_the_lesson():
    assert [traffic_pictures.sectors_of(s) for s in (1, 2, 4, 8, 32)] == [4, 8, 16, 32, 32]
    assert traffic_pictures.sectors_of(1, size=2) == 2


def test_saved_measurements_have_what_a_fresh_one_has():
    assert {(shape, warps) for shape, warps, _ in probes.MATMULS} == set(probes.SAVED["matmul"])
    assert probes.data_sheet(probes.SAVED["device"]).name == "H200"
    assert probes.data_sheet("NVIDIA H100 80GB HBM3").name == "H100"


def test_no_recorded_product_requests_more_than_the_recorded_l2_delivers():
    n, reached = probes.SAVED["n"], probes.SAVED["bandwidth"]
    for (block, _), rate in probes.SAVED["matmul"].items():
        requested = float(matmul_traffic.traffic(*map(sp.Integer, (n, n, n, *block, 2))))
        assert requested / (2 * n**3 / rate) <= reached["L2"] < reached["L2, shared"], block


H100 = device.GPUS["H100"]
MACHINES = {"one": (1e12, 100e12, 2e12), "two": (2e12, 100e12, 2e12)}
PICTURES = {
    "traffic": (
        lambda: storing_pictures.traffic({"P": lambda n, d: 2 * n * n}, {"P": lambda n, d: n * d}, 1024, 64),
        "P: 2 MiB requested, 64 KiB unique",
    ),
    "break-even": (
        lambda: storing_pictures.break_even(MACHINES, measured={"two": (1.1, {16: 0.9})}),
        "one: reading takes 2.00 ps, break-even at D = 75",
    ),
    "limits": (lambda: traffic_pictures.limits(H100, 4, 104, 16384), "the limit is registers"),
    "ladder": (
        lambda: machine_pictures.ladder(machine_pictures.levels(H100, probes.SAVED), "H100"),
        "registers 33 MiB",
    ),
    "nesting": (machine_pictures.nesting, "block = Triton program"),
    "chip": (lambda: machine_pictures.chip(H100, 8, 18), "132 enabled"),
    "butterfly": (
        lambda: machine_pictures.butterfly([3, 1, 4, 1, 5, 9, 2, 6]),
        "3 shuffles; every lane ends with 31",
    ),
    "sectors": (traffic_pictures.sectors, "stride 8: 32 sectors"),
    "banks": (
        lambda: traffic_pictures.banks({"plain": lambda r, c: 8 * r + c, "odd": lambda r, c: 9 * r + c}),
        "odd: 1",
    ),
    "tiles": (lambda: traffic_pictures.tiles(70, 100, 50, (32, 64, 16), (1, 1, 0), 1), "3 × 2 programs"),
    "roofline": (
        lambda: traffic_pictures.roofline(H100, [("mine", 21.2, 1365.0, 1e14)], l2=8e12),
        "ridge at 295",
    ),
    "resident": (lambda: traffic_pictures.resident(H100, 4, (0, 98304)), "255 registers: 0.125"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_each_picture_is_drawn_and_says_what_it_shows(name):
    draw, says = PICTURES[name]
    picture = draw()
    assert says in picture.description
    assert picture.png().startswith(b"\x89PNG")
    assert int.from_bytes(picture.png()[16:20], "big") // 2 <= 1000  # fits a notebook's column


@pytest.mark.gpu
def test_the_probes_run_and_agree_with_the_saved_ones_in_order():
    latency = {"shared": probes.shared_latency(), "L2": probes.latency(2**23), "HBM": probes.latency(2**29)}
    assert latency["shared"] < latency["L2"] < latency["HBM"]


def test_a_budget_is_asked_of_the_learner_s_launch_without_running_it_at_full_size():
    launch = launch_of(tiled_matmul, *torch.zeros(2, 16, 16), BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=4)
    assert launch.grid == (1, 1, 1)
    assert dataclasses.is_dataclass(compiler.compile_launch(launch)[0])


ROUNDED_IN_EVERY_STEP = variant(
    tiled_matmul,
    tiled_matmul_kernel,
    edits=(
        (
            'acc += tl.dot(a, b, input_precision="ieee")',
            'acc += tl.dot(a, b, input_precision="ieee").to(c_ptr.dtype.element_ty)',
        ),
    ),
)


@pytest.mark.parametrize("BLOCK_K", [16, 32, 64])
def test_products_rounded_before_they_are_added_are_wrong_where_they_cancel(BLOCK_K):
    wrong = [
        o
        for o in run(MATMUL, lambda a, b: ROUNDED_IN_EVERY_STEP(a, b, BLOCK_K=BLOCK_K), compiled=False)
        if o.status is Status.WRONG
    ]
    assert [o.case.data for o in wrong] == ["cancelling"]


def test_sums_of_fp32_are_far_within_what_is_allowed_where_products_cancel():
    cancelling = next(c for c in MATMUL.cases if c.data == "cancelling")
    [outcome] = [o for o in run(MATMUL, tiled_matmul, compiled=False) if o.case.name == cancelling.name]
    [check] = outcome.outputs
    assert check.ok
    assert check.error < check.allowed / 4
