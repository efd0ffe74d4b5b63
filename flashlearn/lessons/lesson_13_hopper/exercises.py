"""Lesson 13, Hopper and FlashAttention-3: copies, rings, products and partitions in Gluon."""

from __future__ import annotations

from typing import Any

import torch

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_13_hopper import formulas, mistakes, product_mistakes
from flashlearn.lessons.shared.matrix_layouts import lay_out

FP16, BF16 = torch.float16, torch.bfloat16
HOPPER = 90
"""The compute capability that has TMA, mbarriers and WGMMA as these kernels use them."""

# ---------------------------------------------------------------- tma_copy and tma_ring


def _named(name: str, dtype: torch.dtype, more: dict[str, Any]) -> str:
    name += {FP16: ", fp16", BF16: ", bf16"}.get(dtype, "")
    name += f", {more['layout']}" if "layout" in more else ""
    return name + (f", {more['data']}" if "data" in more else "")


def _matrix(M: int, N: int, dtype: torch.dtype = torch.float32, **more: Any) -> Case:
    tags = {"ragged": bool(M % 64 or N % 64), "half": dtype.itemsize == 2, "strided": "layout" in more}
    chosen = frozenset(tag for tag, on in tags.items() if on)
    return Case(_named(f"{M} × {N}", dtype, more), {"M": M, "N": N}, dtype, tags=chosen, **more)


def matrix(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, N], normally distributed; where sums shall not cancel, all "positive"."""
    x = torch.randn(case.sizes["M"], case.sizes["N"], generator=generator)
    x = x.abs() + 0.5 if case.data == "positive" else x
    return {"x": lay_out(x.to(case.dtype), case.layout)}


def moved_twice(inputs: Inputs) -> Work:
    """No operation; every number is read once and written once."""
    return Work(0.0, 2.0 * inputs["x"].numel() * inputs["x"].element_size())


def added_once(inputs: Inputs) -> Work:
    """An addition for every number, which is read once."""
    x = inputs["x"]
    return Work(float(x.numel()), float(x.numel() * x.element_size()))


tma_copy = Exercise(
    name="tma_copy",
    lesson="13",
    kind=Kind.KERNEL,
    title="A tile comes by TMA and leaves by TMA",
    signature="(x) -> y",
    outputs=("y",),
    inputs=matrix,
    cases=(
        _matrix(64, 64, seed=1),
        _matrix(100, 72, seed=2),
        _matrix(1, 1, seed=3),
        _matrix(65, 130, seed=4),
        _matrix(40, 200, layout="transposed", seed=5),
        _matrix(130, 64, layout="strided", seed=6),
        _matrix(70, 100, FP16, seed=7),
        _matrix(130, 37, BF16, seed=8),
        _matrix(64, 150, FP16, layout="every 2nd column", seed=9),
        _matrix(4096, 4096, BF16, seed=10, gpu=True),
        _matrix(1000, 3001, seed=11, gpu=True),
    ),
    judged=HowJudged(needs=HOPPER, reference=formulas.copied, accumulates=False, work=moved_twice),
    explained=HowExplained(mistakes=mistakes.COPY),
    timed=HowTimed(
        peer=torch.clone, peer_name="torch_clone", case=_matrix(8192, 8192, BF16, seed=12, gpu=True)
    ),
    points=2,
    solution="flashlearn.kernels.gluon.tma_copy:tma_copy",
)

tma_ring = Exercise(
    name="tma_ring",
    lesson="13",
    kind=Kind.KERNEL,
    title="Row sums from a ring of buffers",
    signature="(x) -> y",
    outputs=("y",),
    inputs=matrix,
    cases=(
        _matrix(32, 64, seed=1),  # one tile: fewer than the ring has slots
        _matrix(32, 192, seed=2),  # as many as slots
        _matrix(50, 520, seed=3),  # nine tiles: the ring goes round three times
        _matrix(37, 250, seed=4),
        _matrix(1, 1, seed=5),
        _matrix(40, 330, layout="transposed", seed=6),
        _matrix(33, 400, layout="strided", seed=7),
        _matrix(40, 700, FP16, data="positive", seed=8),
        _matrix(33, 450, BF16, seed=9),
        _matrix(4096, 4096, BF16, seed=10, gpu=True),
        _matrix(1000, 3001, seed=11, gpu=True),
    ),
    judged=HowJudged(
        needs=HOPPER,
        reference=formulas.summed,
        twins=(formulas.summed_by_tiles,),
        output_dtypes={"y": torch.float32},
        work=added_once,
    ),
    explained=HowExplained(mistakes=mistakes.RING),
    timed=HowTimed(
        peer=formulas.summed, peer_name="torch_sum", case=_matrix(8192, 8192, BF16, seed=12, gpu=True)
    ),
    points=3,
    solution="flashlearn.kernels.gluon.tma_ring:tma_ring",
)

# ---------------------------------------------------------------- wgmma_matmul and specialised_matmul


def _product(M: int, N: int, K: int, dtype: torch.dtype = FP16, **more: Any) -> Case:
    tags = {"ragged": bool(M % 64 or N % 64 or K % 64), "half": True, "strided": "layout" in more}
    chosen = frozenset(tag for tag, on in tags.items() if on)
    name = _named(f"{M} × {N}, inner {K}", dtype, more)
    return Case(name, {"M": M, "N": N, "K": K}, dtype, tags=chosen, **more)


def matrices(case: Case, generator: torch.Generator) -> Inputs:
    """a [M, K] and b [K, N], both in the case's layout; all "positive" where it says so."""
    M, N, K = (case.sizes[name] for name in "MNK")
    a, b = (torch.randn(shape, generator=generator) for shape in ((M, K), (K, N)))
    if case.data == "positive":
        a, b = a.abs() + 0.5, b.abs() + 0.5
    return {"a": lay_out(a.to(case.dtype), case.layout), "b": lay_out(b.to(case.dtype), case.layout)}


def multiplied(inputs: Inputs) -> Work:
    """A multiplication and an addition for each element of c and of the inner dimension."""
    a, b = inputs["a"], inputs["b"]
    (M, K), N = a.shape, b.shape[1]
    return Work(2.0 * M * N * K, float(a.element_size() * (M * K + K * N + M * N)))


PRODUCTS = (
    _product(64, 64, 64, seed=1),  # one step
    _product(128, 128, 128, BF16, seed=2),
    _product(100, 72, 200, seed=3),
    _product(128, 40, 560, BF16, seed=4),  # nine steps: the ring goes round twice and more
    _product(1, 1, 5, seed=5),
    _product(37, 150, 330, layout="transposed", seed=6),
    _product(140, 64, 450, BF16, layout="strided", seed=7),
    _product(70, 64, 600, data="positive", seed=8),
    _product(4096, 4096, 4096, BF16, seed=9, gpu=True),
    _product(1000, 3001, 777, seed=10, gpu=True),
)
TIMED = _product(8192, 8192, 8192, BF16, seed=11, gpu=True)

wgmma_matmul = Exercise(
    name="wgmma_matmul",
    lesson="13",
    kind=Kind.KERNEL,
    title="A product of tiles that TMA brings, by WGMMA that is not waited for at once",
    signature="(a, b) -> c",
    outputs=("c",),
    inputs=matrices,
    cases=PRODUCTS,
    judged=HowJudged(
        needs=HOPPER, reference=formulas.product, twins=(formulas.product_by_steps,), work=multiplied
    ),
    explained=HowExplained(mistakes=product_mistakes.WGMMA),
    timed=HowTimed(peer=torch.matmul, peer_name="torch_matmul", case=TIMED),
    points=3,
    solution="flashlearn.kernels.gluon.wgmma_matmul:wgmma_matmul",
)

specialised_matmul = Exercise(
    name="specialised_matmul",
    lesson="13",
    kind=Kind.KERNEL,
    title="A warp that only loads, and two warpgroups that only multiply",
    signature="(a, b) -> c",
    outputs=("c",),
    inputs=matrices,
    cases=PRODUCTS,
    judged=HowJudged(
        needs=HOPPER, reference=formulas.product, twins=(formulas.product_by_steps,), work=multiplied
    ),
    explained=HowExplained(mistakes=product_mistakes.SPECIALISED),
    timed=HowTimed(peer=torch.matmul, peer_name="torch_matmul", case=TIMED),
    points=3,
    solution="flashlearn.kernels.gluon.specialised_matmul:specialised_matmul",
)

# ---------------------------------------------------------------- FlashAttention-3

from flashlearn.lessons.lesson_13_hopper.fa3_exercises import fa3_forward  # noqa: E402, F401, I001
from flashlearn.lessons.lesson_13_hopper.backward_exercise import fa3_backward  # noqa: E402, F401
