"""Lesson 02, softmax and its Jacobian: three symbolic answers and two kernels, one program per row."""

from __future__ import annotations

import sympy as sp
import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_02_softmax import mistakes
from flashlearn.lessons.shared import quantities, reference
from flashlearn.lessons.shared.matrix_layouts import lay_out
from flashlearn.lessons.shared.row_cases import SHIFTS, scores
from flashlearn.lessons.shared.softmax_in_symbols import derivatives, probabilities, vjp

# ---------------------------------------------------------------- symbolic: what a row's p and dp are


def jacobian_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p of the case's size: exact fractions in "example", symbols otherwise."""
    if case.data == "example":
        return {"p": sp.Matrix([sp.Rational(1, 6), sp.Rational(1, 3), sp.Rational(1, 2)])}
    return {"p": probabilities(case.sizes["N"])}


def vjp_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p as for the Jacobian, and dp: (1, −2, 0) in "example", symbols otherwise."""
    p = jacobian_inputs(case, generator)["p"]
    return {"p": p, "dp": sp.Matrix([1, -2, 0]) if case.data == "example" else derivatives(p.rows)}


def log_vjp_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p as for the Jacobian, and the gradient by log p: (1, −2, 0) in "example", symbols otherwise."""
    p = jacobian_inputs(case, generator)["p"]
    symbols = sp.Matrix(sp.symbols(f"dlog_1:{p.rows + 1}", real=True))
    return {"p": p, "dlog": sp.Matrix([1, -2, 0]) if case.data == "example" else symbols}


def log_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    """ds = dlog − p Σ_k dlog_k: ∂ log p_k/∂s_j is 1 − p_j for k = j and −p_j otherwise."""
    return dlog - p * sum(dlog)


def jacobian(p: sp.Matrix) -> sp.Matrix:
    """J = diag(p) − p pᵀ: entry (k, j) is ∂p_k/∂s_j."""
    return sp.diag(*p) - p * p.T


ROWS_OF_SYMBOLS = (
    Case("p = (1/6, 1/3, 1/2)", {"N": 3}, data="example"),
    Case("any p, N = 2", {"N": 2}),
    Case("any p, N = 3", {"N": 3}),
    Case("any p, N = 4", {"N": 4}),
    Case("N = 1", {"N": 1}),
)

softmax_jacobian = Exercise(
    name="softmax_jacobian",
    lesson="02",
    kind=Kind.SYMBOLIC,
    title="The matrix of softmax's derivatives",
    signature="(p) -> J",
    outputs=("J",),
    inputs=jacobian_inputs,
    cases=ROWS_OF_SYMBOLS,
    judged=HowJudged(
        reference=jacobian,
    ),
    explained=HowExplained(
        mistakes=mistakes.JACOBIAN,
    ),
)

softmax_vjp = Exercise(
    name="softmax_vjp",
    lesson="02",
    kind=Kind.SYMBOLIC,
    title="The gradient through softmax, without the matrix",
    signature="(p, dp) -> ds",
    outputs=("ds",),
    inputs=vjp_inputs,
    cases=ROWS_OF_SYMBOLS,
    judged=HowJudged(
        reference=vjp,
    ),
    explained=HowExplained(
        mistakes=mistakes.VJP,
    ),
)

log_softmax_vjp = Exercise(
    name="log_softmax_vjp",
    lesson="02",
    kind=Kind.SYMBOLIC,
    title="The gradient through the logarithm of softmax",
    signature="(p, dlog) -> ds",
    outputs=("ds",),
    inputs=log_vjp_inputs,
    cases=ROWS_OF_SYMBOLS,
    judged=HowJudged(
        reference=log_vjp,
    ),
    explained=HowExplained(
        mistakes=mistakes.LOG_VJP,
    ),
)

# ---------------------------------------------------------------- kernels: rows of a matrix


def forward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """s [M, N] in the case's dtype and layout."""
    return {"s": lay_out(scores(case, generator).to(case.dtype), case.layout)}


def backward_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p = softmax of the case's scores, and dp; one of them alone has the case's layout: strides differ."""
    p = reference.softmax(scores(case, generator)).to(case.dtype)
    dp = torch.randn(p.shape, generator=generator)
    if case.data == "large mean":
        dp = dp + 60.0
    dp = dp.to(case.dtype)
    if case.data == "p is a view":
        return {"p": lay_out(p, case.layout), "dp": dp}
    return {"p": p, "dp": lay_out(dp, case.layout)}


def _shape(s: Tensor, **_) -> tuple[int, int, int]:
    return s.shape[0], s.shape[1], s.element_size()


def forward_work(inputs: Inputs) -> Work:
    """Per element: maximum, difference, exponential, sum, division; one read and one write."""
    M, N, size = _shape(inputs["s"])
    return Work(operations=5.0 * M * N, bytes=2.0 * M * N * size)


def backward_work(inputs: Inputs) -> Work:
    """Per element: product, sum, difference, product; two reads and one write."""
    M, N, size = _shape(inputs["p"])
    return Work(operations=4.0 * M * N, bytes=3.0 * M * N * size)


def torch_softmax(s: Tensor) -> Tensor:
    """The peer of softmax_forward."""
    return torch.softmax(s, dim=-1)


def torch_softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    """The peer of softmax_backward: what autograd calls for torch.softmax."""
    return torch.ops.aten._softmax_backward_data(dp, p, -1, p.dtype)


def _rows(title: str, M: int, N: int, dtype: torch.dtype = torch.float32, **more) -> Case:
    """A case of M rows of N, tagged by what its numbers say."""
    tags = {
        "ragged": N & (N - 1) != 0,
        "half": dtype.itemsize == 2,
        "strided": more.get("layout", "contiguous") != "contiguous",
        "large": more.get("magnitude", 1.0) > 10 or more.get("data") in SHIFTS,
    }
    return Case(
        title, {"M": M, "N": N}, dtype, tags=frozenset(name for name, on in tags.items() if on), **more
    )


FORWARD_CASES = (
    _rows("4×3, below a block", 4, 3),
    _rows("5×37, ragged", 5, 37, seed=1),
    _rows("3×64, a full block", 3, 64, seed=2),
    _rows("1×17, one row", 1, 17, seed=3),
    _rows("6×1, one column", 6, 1, seed=4),
    _rows("5×24, a slice of a wider matrix", 5, 24, layout="strided", seed=5),
    _rows("4×19, transposed view", 4, 19, layout="transposed", seed=6),
    _rows("4×29, scores around ±30", 4, 29, magnitude=30.0, seed=7),
    _rows("4×50, scores around ±100", 4, 50, magnitude=100.0, seed=8),
    _rows("3×21, scores near −200", 3, 21, data="far below zero", seed=9),
    _rows("3×13, equal scores", 3, 13, data="equal", seed=10),
    _rows("5×11, some scores −inf", 5, 11, data="some −inf", seed=11),
    _rows("3×200, fp16", 3, 200, torch.float16, seed=12),
    _rows("3×200, bf16", 3, 200, torch.bfloat16, seed=13),
    _rows("2×100, fp16, near 100", 2, 100, torch.float16, data="far above zero", seed=14),
    _rows("1×2100, a long row", 1, 2100, seed=18),
    _rows("66×3, many rows", 66, 3, seed=19),
    _rows("4096×4096, fp16", 4096, 4096, torch.float16, seed=15, gpu=True),
    _rows("999×3001, bf16, transposed", 999, 3001, torch.bfloat16, layout="transposed", seed=16, gpu=True),
    _rows("64×20000, around ±30", 64, 20000, magnitude=30.0, seed=17, gpu=True),
)

BACKWARD_CASES = (
    _rows("4×3, below a block", 4, 3),
    _rows("5×37, ragged", 5, 37, seed=1),
    _rows("3×64, a full block", 3, 64, seed=2),
    _rows("1×17, one row", 1, 17, seed=3),
    _rows("6×1, one column", 6, 1, seed=4),
    _rows("5×24, dp is a slice", 5, 24, layout="strided", seed=5),
    _rows("5×24, p is a slice", 5, 24, layout="strided", data="p is a view", seed=6),
    _rows("4×19, dp is transposed", 4, 19, layout="transposed", seed=7),
    _rows("4×29, sharp rows", 4, 29, magnitude=5.0, seed=8),
    _rows("3×13, equal probabilities", 3, 13, data="equal", seed=9),
    _rows("5×11, some p are 0", 5, 11, data="some −inf", seed=10),
    _rows("3×200, fp16", 3, 200, torch.float16, seed=11),
    _rows("3×200, bf16", 3, 200, torch.bfloat16, seed=12),
    _rows("3×24, fp16, dp around 60", 3, 24, torch.float16, data="large mean", seed=13),
    _rows("1×2100, a long row", 1, 2100, seed=18),
    _rows("66×3, many rows", 66, 3, seed=19),
    _rows("4096×4096, fp16", 4096, 4096, torch.float16, seed=14, gpu=True),
    _rows("999×3001, bf16, dp transposed", 999, 3001, torch.bfloat16, layout="transposed", seed=15, gpu=True),
    _rows("64×20000, sharp rows", 64, 20000, magnitude=3.0, seed=16, gpu=True),
)
TIMED = _rows("8192×4096, fp16", 8192, 4096, torch.float16, gpu=True)

softmax_forward = Exercise(
    name="softmax_forward",
    lesson="02",
    kind=Kind.KERNEL,
    title="Softmax of each row, the maximum first",
    signature="(s) -> p",
    outputs=("p",),
    inputs=forward_inputs,
    cases=FORWARD_CASES,
    judged=HowJudged(
        reference=reference.softmax,
        twins=(reference.softmax_from_lse, reference.softmax_base2),
        work=forward_work,
    ),
    explained=HowExplained(
        quantities=quantities.softmax_forward,
        mistakes=mistakes.FORWARD,
    ),
    timed=HowTimed(
        peer=torch_softmax,
        peer_name="torch_softmax",
        case=TIMED,
    ),
    points=2,
    solution="flashlearn.kernels.softmax:softmax_forward",
)

softmax_backward = Exercise(
    name="softmax_backward",
    lesson="02",
    kind=Kind.KERNEL,
    title="The gradient through each row's softmax",
    signature="(p, dp) -> ds",
    outputs=("ds",),
    inputs=backward_inputs,
    cases=BACKWARD_CASES,
    judged=HowJudged(
        reference=reference.softmax_backward,
        twins=(reference.softmax_backward_expanded,),
        gradient=True,
        work=backward_work,
    ),
    explained=HowExplained(
        quantities=quantities.softmax_backward,
        mistakes=mistakes.BACKWARD,
    ),
    timed=HowTimed(
        peer=torch_softmax_backward,
        peer_name="torch_softmax_backward",
        case=TIMED,
    ),
    points=2,
    solution="flashlearn.kernels.softmax:softmax_backward",
)
