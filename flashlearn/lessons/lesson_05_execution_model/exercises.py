"""Lesson 05, the GPU's execution model: a tiled product, the bytes it requests, what its blocks cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp
import torch
from torch import Tensor

from flashlearn import compiler
from flashlearn.exercise import Case, Earlier, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.interpreter.route import observing
from flashlearn.kernels import matmul as matmul_kernels
from flashlearn.lessons.lesson_05_execution_model import mistakes
from flashlearn.lessons.lesson_05_execution_model.block_budget import block_budget
from flashlearn.lessons.shared import example, quantities
from flashlearn.lessons.shared.matrix_layouts import lay_out
from flashlearn.machine import device
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed, PlainCall

# ---------------------------------------------------------------- tiled_matmul

HALF = (torch.float16, torch.bfloat16)


def matmul_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """a [M, K] and b [K, N]; `data` says which of them has the case's layout, or "positive" numbers."""
    if case.data == "example":
        return {"a": example.Q.to(case.dtype), "b": example.K.to(case.dtype).t()}
    M, N, K = (case.sizes[name] for name in "MNK")
    a, b = (torch.randn(shape, generator=generator) * case.magnitude for shape in ((M, K), (K, N)))
    if case.data == "positive":
        a, b = a.abs() + 0.5, b.abs() + 0.5
    a, b = a.to(case.dtype), b.to(case.dtype)
    return {
        "a": a if case.data == "b is a view" else lay_out(a, case.layout),
        "b": b if case.data == "a is a view" else lay_out(b, case.layout),
    }


def matmul(a: Tensor, b: Tensor) -> Tensor:
    """C = A B with sums in fp32 (fp64 for fp64 inputs), in a's dtype: [M, K] and [K, N] → [M, N]."""
    wide = torch.float64 if a.dtype == torch.float64 else torch.float32
    return (a.to(wide) @ b.to(wide)).to(a.dtype)


def matmul_in_blocks(a: Tensor, b: Tensor, block: int = 16) -> Tensor:
    """The same, summed block by block of the inner dimension."""
    wide = torch.float64 if a.dtype == torch.float64 else torch.float32
    parts = zip(a.to(wide).split(block, dim=1), b.to(wide).split(block, dim=0), strict=True)
    return sum(a_k @ b_k for a_k, b_k in parts).to(a.dtype)


def matmul_work(inputs: Inputs) -> Work:
    """A multiply-add per element of C and of the inner dimension; each matrix moved once."""
    (M, K), N, size = inputs["a"].shape, inputs["b"].shape[1], inputs["a"].element_size()
    return Work(operations=2.0 * M * N * K, bytes=float(size * (M * K + K * N + M * N)))


def torch_matmul(a: Tensor, b: Tensor) -> Tensor:
    """The peer of tiled_matmul."""
    return a @ b


def product(title: str, M: int, N: int, K: int, dtype: torch.dtype = torch.float32, **more: Any) -> Case:
    """One product's case, tagged by what its sizes say."""
    tags = {
        "ragged": bool(M % 32 or N % 64 or K % 16),
        "half": dtype in HALF,
        "strided": more.get("layout", "contiguous") != "contiguous",
        "large": more.get("magnitude", 1.0) > 2,
    }
    chosen = frozenset(tag for tag, on in tags.items() if on)
    return Case(title, {"M": M, "N": N, "K": K}, dtype, tags=chosen, **more)


PRODUCTS = (
    product("37×50, inner 70: ragged in all three", 37, 50, 70, seed=1),
    product("32×64, inner 16: one whole tile", 32, 64, 16, seed=2),
    product("64×64, inner 48: whole tiles", 64, 64, 48, seed=3),
    product("1×1, inner 1", 1, 1, 1, seed=4),
    product("33×20, inner 16: one row too many", 33, 20, 16, seed=5),
    product("20×65, inner 17: one column too many", 20, 65, 17, seed=6),
    product("100×30, inner 5: tall", 100, 30, 5, seed=7),
    product("10×150, inner 40: wide", 10, 150, 40, seed=8),
    product("40×30, inner 24, slices of wider matrices", 40, 30, 24, layout="strided", seed=11),
    product("Q Kᵀ of the course's example", 4, 3, 2, data="example"),
    product("30×40, inner 24, a transposed", 30, 40, 24, layout="transposed", data="a is a view", seed=9),
    product("30×40, inner 24, b transposed", 30, 40, 24, layout="transposed", data="b is a view", seed=10),
    product("20×30, inner 20, every 2nd column", 20, 30, 20, layout="every 2nd column", seed=12),
    product("33×40, inner 60, values ×30", 33, 40, 60, magnitude=30.0, seed=13),
    product("40×70, inner 100, fp16", 40, 70, 100, torch.float16, seed=14),
    product("40×70, inner 100, bf16", 40, 70, 100, torch.bfloat16, seed=15),
    product("16×24, inner 1030, fp16, positive", 16, 24, 1030, torch.float16, data="positive", seed=16),
    product("40×40, inner 40: square", 40, 40, 40, seed=20),
    product("300×3, inner 5: very tall", 300, 3, 5, seed=21),
    product("3×300, inner 5: very wide", 3, 300, 5, seed=22),
    product("1024×1024, inner 1024, fp16", 1024, 1024, 1024, torch.float16, seed=17, gpu=True),
    product("1000×3000, inner 777, bf16", 1000, 3000, 777, torch.bfloat16, seed=18, gpu=True),
    product("777×500, inner 1001, transposed", 777, 500, 1001, layout="transposed", seed=19, gpu=True),
)

tiled_matmul = Exercise(
    name="tiled_matmul",
    lesson="05",
    kind=Kind.KERNEL,
    title="A matrix product, one program per tile",
    signature="(a, b) -> c",
    outputs=("c",),
    inputs=matmul_inputs,
    cases=PRODUCTS,
    judged=HowJudged(
        reference=matmul,
        twins=(matmul_in_blocks,),
        work=matmul_work,
    ),
    explained=HowExplained(
        quantities=quantities.matmul,
        mistakes=mistakes.MATMUL,
    ),
    timed=HowTimed(
        peer=torch_matmul,
        peer_name="torch_matmul",
        case=product("4096×4096, inner 4096, fp16", 4096, 4096, 4096, torch.float16, gpu=True),
    ),
    points=3,
    solution="flashlearn.kernels.matmul:tiled_matmul",
)

# ---------------------------------------------------------------- matmul_traffic

SIZES = ("M", "N", "K", "B_M", "B_N", "B_K", "e")


def traffic_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """Sizes, blocks and bytes per element: the case's numbers, or positive integers for those it lacks."""
    symbols = {name: sp.Symbol(name, integer=True, positive=True) for name in SIZES}
    return symbols | {name: sp.Integer(value) for name, value in case.sizes.items()}


def traffic(
    M: sp.Expr, N: sp.Expr, K: sp.Expr, B_M: sp.Expr, B_N: sp.Expr, B_K: sp.Expr, e: sp.Expr
) -> sp.Expr:
    """Bytes that tiled_matmul requests: A once per block of columns, B once per block of rows, C once."""
    return e * (M * K * sp.ceiling(N / B_N) + K * N * sp.ceiling(M / B_M) + M * N)


def _sized(title: str, **sizes: int) -> Case:
    return Case(title, sizes)


MEASURED = ((70, 100, 50), (33, 64, 40))
"""M, N and K of the products on which `matmul_traffic` is compared with counted bytes."""


def counted_traffic(answer: Answer, M: int, N: int, K: int) -> tuple[int, Inputs] | None:
    """Bytes that a call of a tiled product requests, with sizes and blocks; None if it names no blocks."""
    a, b = torch.ones(M, K), torch.ones(K, N)
    seen = answer.run({"a": a, "b": b}, Observed()).completed().observation
    constants = seen.launches[0].constexprs if len(seen.launches) == 1 else {}
    blocks = [constants.get(name) for name in ("BLOCK_M", "BLOCK_N", "BLOCK_K")]
    if None in blocks:
        return None
    values = (M, N, K, *blocks, a.element_size())
    return seen.bytes_requested, dict(zip(SIZES, map(sp.Integer, values), strict=True))


def traffic_review(answer: Answer, earlier: Earlier) -> str:
    """The formula against what the learner's own kernel requests (the course's, if theirs has not passed)."""
    kernel = earlier("tiled_matmul")
    for M, N, K in MEASURED:
        found = counted_traffic(kernel, M, N, K)
        if found is None:
            continue
        counted, sizes = found
        predicted = answer.run(sizes, PlainCall()).completed().returned
        if predicted != counted:
            shape = ", ".join(f"{name} = {value}" for name, value in sizes.items())
            return (
                f"The formula holds for a kernel that loads each tile once per program. Your tiled_matmul "
                f"requests {counted} bytes at {shape}, where your formula says {predicted}: does it load or "
                "store something twice?"
            )
    return ""


matmul_traffic = Exercise(
    name="matmul_traffic",
    lesson="05",
    kind=Kind.SYMBOLIC,
    title="The bytes that a tiled product requests",
    signature="(M, N, K, B_M, B_N, B_K, e) -> requested",
    outputs=("requested",),
    inputs=traffic_inputs,
    cases=(
        _sized("64×128, inner 48: whole tiles", M=64, N=128, K=48, B_M=32, B_N=64, B_K=16, e=4),
        _sized("37×70, inner 50: ragged", M=37, N=70, K=50, B_M=32, B_N=64, B_K=16, e=2),
        _sized("fp32 with blocks of 32×64×16, any size", B_M=32, B_N=64, B_K=16, e=4),
        _sized("everything symbolic"),
    ),
    judged=HowJudged(
        reference=traffic,
        review=traffic_review,
    ),
    explained=HowExplained(
        mistakes=mistakes.TRAFFIC,
    ),
    points=2,
)

# ---------------------------------------------------------------- budget

BUDGET_ARGUMENTS = ("block_m", "block_n", "block_k", "size", "buffers", "warps", "registers")


def budget_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """The case's numbers, and the GPU that its `data` names."""
    return {name: sp.Integer(case.sizes[name]) for name in BUDGET_ARGUMENTS} | {"gpu": device.GPUS[case.data]}


def _block(gpu: str, shape: str, size: int, buffers: int, warps: int, registers: int, why: str = "") -> Case:
    values = (*map(int, shape.split("×")), size, buffers, warps, registers)
    title = f"{shape}, {buffers} buffers, {warps} warps, {registers} registers, {gpu}{why}"
    return Case(title, dict(zip(BUDGET_ARGUMENTS, values, strict=True)), data=gpu)


BUDGET_CASES = (
    _block("H100", "64×64×32", 2, 3, 4, 59),
    _block("A100", "64×64×64", 2, 2, 4, 64),
    _block("H100", "128×128×64", 2, 4, 8, 110),
    _block("A100", "128×128×32", 2, 2, 4, 222),
    _block("RTX 4090", "64×64×32", 2, 2, 4, 97),  # handed out as 104: four blocks, where 97 would make five
    _block("H100", "32×32×16", 2, 2, 16, 24),
    _block("H100", "16×16×16", 2, 2, 1, 40),
    _block("A100", "64×64×16", 2, 2, 4, 64),  # full eights: rounded up they stay what they are
    _block("H100", "128×256×64", 4, 3, 8, 255, ": too large"),
)

COMPILED = (((64, 64, 32), 4, 3), ((128, 128, 64), 8, 3))
"""Block shape, warps and stages of the kernels on which `budget` meets the compiler, for fp16."""


def buffers_of(made: Any, stages: int) -> int:
    """Pairs of tiles in flight: wgmma reads them where they lie, mma from registers, which frees one."""
    return stages if made.tensor_cores == "wgmma" else max(stages - 1, 1)


def compiled_budgets(
    function: Callable[..., Tensor], shape: tuple[int, int, int], warps: int, stages: int
) -> list[Any]:
    """`compiler.Budget`s of a tiled product with this block shape in fp16, on an A100 and an H100."""
    a, b = torch.zeros(2, 16, 16, dtype=torch.float16)
    blocks = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), shape, strict=True))
    with observing() as (session, _):
        function(a, b, **blocks, num_warps=warps, num_stages=stages)
    return list(compiler.compile_launch(session.launches[-1]))


def _agree(predicted: Any, made: Any, warps: int, gpu: device.GPU) -> bool:
    """Shared memory to a tenth, occupancy to one block, and an accumulator that fits what was compiled."""
    accumulator, shared, occupancy = predicted
    one_block = warps / gpu.warps_per_sm
    return (
        accumulator <= made.registers
        and abs(shared - made.shared_bytes) <= made.shared_bytes / 10
        and abs(occupancy - made.occupancy) <= one_block
    )


def budget_review(answer: Answer, earlier: Earlier) -> str:
    """The function against the compiler's answers, wherever this compiler does what the lesson says."""
    for shape, warps, stages in COMPILED:
        for made in compiled_budgets(matmul_kernels.tiled_matmul, shape, warps, stages):
            if made.error or made.registers is None:
                continue
            gpu = device.for_target(made.target)
            numbers = (*shape, 2, buffers_of(made, stages), warps, made.registers)
            given = (*map(sp.Integer, numbers), gpu)
            named = dict(zip((*BUDGET_ARGUMENTS, "gpu"), given, strict=True))
            predicted = answer.run(named, PlainCall()).completed().returned
            if _agree(block_budget(*given), made, warps, gpu) and not _agree(predicted, made, warps, gpu):
                return (
                    f"For {'×'.join(map(str, shape))} in fp16 with {warps} warps on an {gpu.name} the "
                    f"compiler says {made.registers} registers, {made.shared_bytes} bytes of shared "
                    f"memory, occupancy {made.occupancy:.4g}; your function says {tuple(predicted)}."
                )
    return ""


budget = Exercise(
    name="budget",
    lesson="05",
    kind=Kind.SYMBOLIC,
    title="What a block shape costs, before it is launched",
    signature="(block_m, block_n, block_k, size, buffers, warps, registers, gpu) -> "
    "(accumulator, shared, occupancy)",
    outputs=("accumulator", "shared", "occupancy"),
    inputs=budget_inputs,
    cases=BUDGET_CASES,
    judged=HowJudged(
        reference=block_budget,
        review=budget_review,
    ),
    explained=HowExplained(
        mistakes=mistakes.BUDGET,
    ),
    points=2,
)
