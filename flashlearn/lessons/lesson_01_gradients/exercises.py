"""Lesson 01, gradients of matrix expressions: three symbolic answers, a linear layer, a bias's gradient."""

from __future__ import annotations

import functools

import sympy as sp
import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_01_gradients import mistakes, without_autograd
from flashlearn.lessons.shared import example
from flashlearn.lessons.shared.matrix_layouts import lay_out

# ---------------------------------------------------------------- symbolic: Y = X W


def symbols(name: str, rows: int, columns: int) -> sp.Matrix:
    """A matrix of real symbols: x_00, x_01, …"""
    return sp.Matrix(rows, columns, lambda i, j: sp.Symbol(f"{name}_{i}{j}", real=True))


def factors(case: Case, generator: torch.Generator) -> Inputs:
    """X [M, K] and W [K, N]: Q and Kᵀ of the running example, symbols otherwise."""
    if case.data == "example":
        numbers = example.symbolic()
        return {"X": numbers.Q, "W": numbers.K.T}
    M, K, N = (case.sizes[s] for s in "MKN")
    return {"X": symbols("x", M, K), "W": symbols("w", K, N)}


def factors_and_gradient(case: Case, generator: torch.Generator) -> Inputs:
    """X, W and dY [M, N]: in "example" dO Vᵀ, whose first row is (1, −2, 0)."""
    given = factors(case, generator)
    if case.data == "example":
        numbers = example.symbolic()
        return {**given, "dY": numbers.dO * numbers.V.T}
    return {**given, "dY": symbols("dy", case.sizes["M"], case.sizes["N"])}


def gradient_alone(case: Case, generator: torch.Generator) -> Inputs:
    """dY [M, N]."""
    if case.data == "example":
        return {"dY": factors_and_gradient(case, generator)["dY"]}
    return {"dY": symbols("dy", case.sizes["M"], case.sizes["N"])}


def jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    """∂ vec(X W) / ∂ vec(X) with vec row by row: M copies of Wᵀ on the diagonal, I ⊗ Wᵀ."""
    return sp.diag(*[W.T] * X.rows)


def vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX = dY Wᵀ and dW = Xᵀ dY."""
    return dY * W.T, X.T * dY


def centred_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """The gradients through Y_ij = X_ij − (1/N) Σ_l X_il + b_j: dY minus its row means, and column sums."""
    row_means = dY * sp.ones(dY.cols, 1) / dY.cols
    return dY - row_means * sp.ones(1, dY.cols), sp.ones(1, dY.rows) * dY


def _product(M: int, K: int, N: int, title: str = "") -> Case:
    return Case(title or f"any X and W, {M}×{K} · {K}×{N}", {"M": M, "K": K, "N": N})


PRODUCTS = (
    Case("Q Kᵀ of the example, 4×2 · 2×3", {"M": 4, "K": 2, "N": 3}, data="example"),
    _product(2, 3, 4),
    _product(1, 2, 3),
    _product(2, 2, 2),
    _product(3, 1, 2),
)

matmul_jacobian = Exercise(
    name="matmul_jacobian",
    lesson="01",
    kind=Kind.SYMBOLIC,
    title="The matrix of a matrix product's derivatives",
    signature="(X, W) -> J",
    outputs=("J",),
    inputs=factors,
    cases=PRODUCTS,
    judged=HowJudged(
        reference=jacobian,
    ),
    explained=HowExplained(
        mistakes=mistakes.JACOBIAN,
    ),
)

matmul_vjp = Exercise(
    name="matmul_vjp",
    lesson="01",
    kind=Kind.SYMBOLIC,
    title="The gradients of a matrix product",
    signature="(X, W, dY) -> (dX, dW)",
    outputs=("dX", "dW"),
    inputs=factors_and_gradient,
    cases=PRODUCTS,
    judged=HowJudged(
        reference=vjp,
    ),
    explained=HowExplained(
        mistakes=mistakes.VJP,
    ),
)

# ---------------------------------------------------------------- torch: a linear layer


def layer_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, K] or [B, M, K], w [K, N], dy like y; in the strided case x is [B, M, K] in another order."""
    M, K, N = (case.sizes[s] for s in "MKN")
    lead = (case.sizes["B"],) if "B" in case.sizes else ()
    x = torch.randn(*lead, M, K, generator=generator)
    w = torch.randn(K, N, generator=generator)
    dy = torch.randn(*lead, M, N, generator=generator)
    x, w, dy = (t.to(case.dtype) for t in (x, w, dy))
    if case.layout == "strided":  # .view refuses such tensors, .reshape and .flatten copy them
        x, dy = (t.transpose(0, 1).contiguous().transpose(0, 1) for t in (x, dy))
    return {"x": x, "w": w, "dy": dy}


def layer_backward(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """dx = dy wᵀ, and dw = xᵀ dy with all leading dimensions as rows."""
    return dy @ w.mT, x.flatten(0, -2).mT @ dy.flatten(0, -2)


def layer_backward_per_batch(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """The same with dw formed for each batch element and added afterwards, which rounds differently."""
    dw = x.mT @ dy
    return dy @ w.mT, dw.reshape(-1, *dw.shape[-2:]).sum(dim=0)


def _layer(title: str, M: int, K: int, N: int, B: int = 0, **more) -> Case:
    sizes = {"M": M, "K": K, "N": N} | ({"B": B} if B else {})
    half = {"half"} if more.get("dtype", torch.float32).itemsize == 2 else set()
    batch = {"batch"} if B else set()
    return Case(title, sizes, tags=frozenset(half | batch), **more)


LAYERS = (
    _layer("4×2 · 2×3, the example's sizes", 4, 2, 3),
    _layer("7×5 · 5×11", 7, 5, 11, seed=1),
    _layer("6×6 · 6×6, all sizes equal", 6, 6, 6, seed=2),
    _layer("1×8 · 8×3, one row", 1, 8, 3, seed=3),
    _layer("a batch of 3, 5×4 · 4×7", 5, 4, 7, 3, seed=4),
    _layer("a batch of 2, 6×3 · 3×8, transposed in memory", 6, 3, 8, 2, layout="strided", seed=5),
    _layer("64×32 · 32×48, fp16", 64, 32, 48, dtype=torch.float16, seed=6),
    _layer("a batch of 4, 32×24 · 24×40, bf16", 32, 24, 40, 4, dtype=torch.bfloat16, seed=7),
)

linear_backward = Exercise(
    name="linear_backward",
    lesson="01",
    kind=Kind.TORCH,
    title="The backward pass of a linear layer",
    signature="(x, w, dy) -> (dx, dw)",
    outputs=("dx", "dw"),
    inputs=layer_inputs,
    cases=LAYERS,
    judged=HowJudged(
        reference=layer_backward,
        twins=(layer_backward_per_batch,),
        gradient=True,
        call=without_autograd.call,
        review=without_autograd.review_on(lambda: layer_inputs(LAYERS[0], LAYERS[0].generator())),
    ),
    explained=HowExplained(
        mistakes=mistakes.LINEAR,
    ),
)

# ---------------------------------------------------------------- symbolic: rows and a bias

reduce_and_broadcast_vjp = Exercise(
    name="reduce_and_broadcast_vjp",
    lesson="01",
    kind=Kind.SYMBOLIC,
    title="The gradients of a centred row and of its bias",
    signature="(dY) -> (dX, db)",
    outputs=("dX", "db"),
    inputs=gradient_alone,
    cases=(
        Case("dO Vᵀ of the example, 4×3", {"M": 4, "N": 3}, data="example"),
        Case("any dY, 2×3", {"M": 2, "N": 3}),
        Case("any dY, 3×2", {"M": 3, "N": 2}),
        Case("any dY, 3×3", {"M": 3, "N": 3}),
        Case("one row, 1×4", {"M": 1, "N": 4}),
        Case("one column, 3×1", {"M": 3, "N": 1}),
    ),
    judged=HowJudged(
        reference=centred_vjp,
    ),
    explained=HowExplained(
        mistakes=mistakes.CENTRE,
    ),
)

# ---------------------------------------------------------------- a kernel: column sums


def batch_of_gradients(case: Case, generator: torch.Generator) -> Inputs:
    """dy [M, N]. "the last row takes back the rest": partial sums are large, the columns' sums small."""
    dy = (torch.randn(case.sizes["M"], case.sizes["N"], generator=generator) * case.magnitude).to(case.dtype)
    if case.data == "the last row takes back the rest":
        dy = 10 * dy.abs()
        dy[-1] = -dy[:-1].float().sum(dim=0).to(case.dtype)
    return {"dy": lay_out(dy, case.layout)}


def _wide(dy: Tensor) -> Tensor:
    return dy if dy.dtype == torch.float64 else dy.float()


def column_sums(dy: Tensor) -> Tensor:
    """db_j = Σ_i dy_ij, carried in fp32 at least."""
    return _wide(dy).sum(dim=0).to(dy.dtype)


def column_sums_by_tiles(dy: Tensor) -> Tensor:
    """The same in tiles of 32 rows, one after another."""
    parts = (tile.sum(dim=0) for tile in _wide(dy).split(32))
    return functools.reduce(torch.add, parts).to(dy.dtype)


def column_sums_in_order(dy: Tensor) -> Tensor:
    """The same one row after another, as a loop over the rows adds them."""
    return functools.reduce(torch.add, _wide(dy).unbind(dim=0)).to(dy.dtype)


def column_sums_work(inputs: Inputs) -> Work:
    """M − 1 additions per column; every element read once, one written per column."""
    M, N = inputs["dy"].shape
    return Work(operations=float((M - 1) * N), bytes=float((M + 1) * N * inputs["dy"].element_size()))


def _batch(title: str, M: int, N: int, dtype: torch.dtype = torch.float32, **more) -> Case:
    tags = {
        "ragged": bool(M % 32 or N % 32),
        "half": dtype.itemsize == 2,
        "strided": more.get("layout", "contiguous") != "contiguous",
    }
    return Case(
        title, {"M": M, "N": N}, dtype, tags=frozenset(name for name, on in tags.items() if on), **more
    )


bias_gradient = Exercise(
    name="bias_gradient",
    lesson="01",
    kind=Kind.KERNEL,
    title="The sum of each column over a ragged batch",
    signature="(dy) -> db",
    outputs=("db",),
    inputs=batch_of_gradients,
    cases=(
        _batch("64×128, whole tiles", 64, 128, seed=1),
        _batch("4×3, less than a tile", 4, 3),
        _batch("70×37, ragged both ways", 70, 37, seed=2),
        _batch("1×50, one row", 1, 50, seed=3),
        _batch("101×1, one column", 101, 1, seed=4),
        _batch("45×150, several blocks of columns", 45, 150, seed=5),
        _batch("50×20, a window of a wider matrix", 50, 20, layout="strided", seed=6),
        _batch("40×21, transposed view", 40, 21, layout="transposed", seed=7),
        _batch("90×33, values near 10⁴", 90, 33, magnitude=1e4, seed=8),
        _batch(
            "200×70, fp16, cancelling",  # a sum carried in half precision loses what is left over
            200,
            70,
            torch.float16,
            data="the last row takes back the rest",
            seed=9,
        ),
        _batch("130×300, bf16", 130, 300, torch.bfloat16, seed=10),
        _batch("1030×3, many rows", 1030, 3, seed=14),
        _batch("16384×4096, fp16", 16384, 4096, torch.float16, seed=11, gpu=True),
        _batch(
            "5003×999, bf16, transposed", 5003, 999, torch.bfloat16, layout="transposed", seed=12, gpu=True
        ),
    ),
    judged=HowJudged(
        reference=column_sums,
        twins=(column_sums_by_tiles, column_sums_in_order),
        gradient=True,
        atomics=True,
        work=column_sums_work,
    ),
    timed=HowTimed(
        peer=lambda dy: torch.sum(dy, dim=0),
        case=_batch("32768×4096, fp16", 32768, 4096, torch.float16, gpu=True, seed=13),
    ),
    explained=HowExplained(
        mistakes=mistakes.COLUMN_SUMS,
    ),
    points=2,
    solution="flashlearn.kernels.bias_gradient:bias_gradient",
)
