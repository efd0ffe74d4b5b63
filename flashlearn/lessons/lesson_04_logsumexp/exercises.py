"""Lesson 04, log-sum-exp and recomputation: one number per row, merging, a scan, and P tile by tile."""
# ruff: noqa: E741  (l is the sum's name in the papers, in the lesson and in the kernels)

from __future__ import annotations

import math

import sympy as sp
import torch
from torch import Tensor

from flashlearn.exercise import (
    Case,
    Earlier,
    Exercise,
    HowExplained,
    HowJudged,
    HowTimed,
    Inputs,
    Kind,
    Work,
)
from flashlearn.lessons.lesson_04_logsumexp import mistakes
from flashlearn.lessons.shared import quantities, reference
from flashlearn.lessons.shared.faulty_formulas.rows import logsumexp as online_scan
from flashlearn.lessons.shared.matrix_layouts import lay_out
from flashlearn.lessons.shared.row_cases import scores
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

# ---------------------------------------------------------------- symbolic: one number instead of two


def identity_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """A column s, a number m that is subtracted from it, and l = Σ exp(s_j − m)."""
    if case.data == "symbols":
        s = sp.Matrix(sp.symbols(f"s_1:{case.sizes['N'] + 1}", real=True))
        m = sp.Symbol("m", real=True)
    else:
        s = sp.Matrix([0, sp.log(2), sp.log(3)])
        m = sp.log(3) if case.data == "maximum" else sp.S.Zero
    return {"s": s, "m": m, "l": sum(sp.exp(s_j - m) for s_j in s)}


def identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    """LSE = m + log l, and p_j = exp(s_j − LSE)."""
    lse = m + sp.log(l)
    return lse, s.applyfunc(lambda s_j: sp.exp(s_j - lse))


lse_identity = Exercise(
    name="lse_identity",
    lesson="04",
    kind=Kind.SYMBOLIC,
    title="One number per row, and the softmax from it",
    signature="(s, m, l) -> (lse, p)",
    outputs=("lse", "p"),
    inputs=identity_inputs,
    cases=(
        Case("s = (0, log 2, log 3), m = log 3", {"N": 3}, data="maximum"),
        Case("the same s, m = 0", {"N": 3}, data="zero"),
        Case("any s and m, N = 2", {"N": 2}, data="symbols"),
        Case("any s and m, N = 3", {"N": 3}, data="symbols"),
        Case("N = 1", {"N": 1}, data="symbols"),
    ),
    judged=HowJudged(
        reference=identity,
    ),
    explained=HowExplained(
        mistakes=mistakes.LSE_IDENTITY,
    ),
)

# ---------------------------------------------------------------- merging two partial results

PARTS = ("m_a", "l_a", "acc_a", "m_b", "l_b", "acc_b")


def merge_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """Two parts of a row: a maximum, a sum and a 1 × D row of weighted values each."""
    log, third = sp.log, sp.Rational(1, 3)
    if case.data == "example":  # scores 0, log 2 | log 3 with the values (1, 0), (0, 2) | (1, 1)
        half = sp.Rational(1, 2)
        values = (log(2), 3 * half, sp.Matrix([[half, 2]]), log(3), sp.S.One, sp.Matrix([[1, 1]]))
    elif case.data == "numbers":
        values = (log(6), sp.Integer(2), sp.Matrix([[1, -1]]), log(2), 4 * third, sp.Matrix([[third, 2]]))
    else:
        D = case.sizes["D"]
        values = (
            *(sp.Symbol("m_a", real=True), sp.Symbol("l_a", positive=True), _row("acc_a", D)),
            *(sp.Symbol("m_b", real=True), sp.Symbol("l_b", positive=True), _row("acc_b", D)),
        )
        if case.data == "b is empty":
            values = (*values[:3], -sp.oo, sp.S.Zero, sp.zeros(1, D))
        if case.data == "a is empty":
            values = (-sp.oo, sp.S.Zero, sp.zeros(1, D), *values[3:])
    return dict(zip(PARTS, values, strict=True))


def _row(name: str, D: int) -> sp.Matrix:
    return sp.Matrix([sp.symbols(f"{name}_1:{D + 1}", real=True)])


def merged(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """(m, l, acc) of both parts together, in units of exp(m)."""
    m = sp.Max(m_a, m_b)
    w_a, w_b = sp.exp(m_a - m), sp.exp(m_b - m)
    return m, w_a * l_a + w_b * l_b, w_a * acc_a + w_b * acc_b


merge_partials = Exercise(
    name="merge_partials",
    lesson="04",
    kind=Kind.SYMBOLIC,
    title="Two partial results become one",
    signature="(m_a, l_a, acc_a, m_b, l_b, acc_b) -> (m, l, acc)",
    outputs=("m", "l", "acc"),
    inputs=merge_inputs,
    cases=(
        Case("scores 0, log 2 and log 3", {"D": 2}, data="example"),
        Case("the larger maximum first", {"D": 2}, data="numbers"),
        Case("any parts, D = 1", {"D": 1}, data="symbols"),
        Case("any parts, D = 2", {"D": 2}, data="symbols"),
        Case("b is empty: (−∞, 0, 0)", {"D": 2}, data="b is empty"),
        Case("a is empty: (−∞, 0, 0)", {"D": 2}, data="a is empty"),
    ),
    judged=HowJudged(
        reference=merged,
    ),
    explained=HowExplained(
        mistakes=mistakes.MERGE,
    ),
    points=2,
)

EMPTY_ROWS = {"a is empty": (0,), "b is empty": (1,), "both are empty": (0, 1)}


def merge_torch_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """m and l [..., R], acc [..., R, D] in fp32, twice; the empty parts hold (−inf, 0, 0)."""
    shape = tuple(size for name, size in case.sizes.items() if name != "D")
    parts: dict[str, Tensor] = {}
    for place, part in enumerate("ab"):
        m = torch.randn(shape, generator=generator) * case.magnitude
        l = 1 + 4 * torch.rand(shape, generator=generator)
        acc = torch.randn(*shape, case.sizes["D"], generator=generator)
        if case.data == "equal maxima":
            m = parts.get("m_a", m).clone()
        if case.data == "one far above":
            m = m + (150.0 if place else 0.0)
        if case.data == "far below zero":
            m = m - 150.0
        for title, empty in EMPTY_ROWS.items():
            if case.data in (title, "some of each") and place in empty:
                rows = slice(None)
                if case.data == "some of each":
                    first = list(EMPTY_ROWS).index(title)
                    rows = slice(first, None, 4)
                m[..., rows], l[..., rows], acc[..., rows, :] = -math.inf, 0.0, 0.0
        parts |= {f"m_{part}": m, f"l_{part}": l, f"acc_{part}": acc}
    return parts


def merged_with_one_exponential(m_a, l_a, acc_a, m_b, l_b, acc_b) -> tuple[Tensor, Tensor, Tensor]:
    """The same with a single exponential: the larger part keeps its weight of 1."""
    m = torch.maximum(m_a, m_b)
    gap = torch.where(m == -math.inf, 0.0, torch.minimum(m_a, m_b) - m).exp()
    w_a, w_b = torch.where(m_a == m, 1.0, gap), torch.where(m_b == m, 1.0, gap)
    return m, w_a * l_a + w_b * l_b, w_a.unsqueeze(-1) * acc_a + w_b.unsqueeze(-1) * acc_b


merge_partials_torch = Exercise(
    name="merge_partials_torch",
    lesson="04",
    kind=Kind.TORCH,
    title="The same for whole tensors, and for parts that are empty",
    signature="(m_a, l_a, acc_a, m_b, l_b, acc_b) -> (m, l, acc)",
    outputs=("m", "l", "acc"),
    inputs=merge_torch_inputs,
    cases=(
        Case("6 rows, D = 4", {"R": 6, "D": 4}),
        Case("one row, D = 1", {"R": 1, "D": 1}, seed=1),
        Case("B 2, H 3, 5 rows, D = 4", {"B": 2, "H": 3, "R": 5, "D": 4}, seed=2),
        Case("maxima around ±30", {"R": 7, "D": 3}, magnitude=30.0, seed=3),
        Case("equal maxima", {"R": 5, "D": 3}, data="equal maxima", seed=4),
        Case("b far above a", {"R": 5, "D": 3}, data="one far above", seed=5),
        Case("all far below zero", {"R": 5, "D": 3}, data="far below zero", seed=6),
        Case("a is empty", {"R": 4, "D": 3}, data="a is empty", seed=7),
        Case("b is empty", {"R": 4, "D": 3}, data="b is empty", seed=8),
        Case("both are empty", {"R": 4, "D": 3}, data="both are empty", seed=9),
        Case("some rows of each kind", {"H": 2, "R": 9, "D": 4}, data="some of each", seed=10),
    ),
    judged=HowJudged(
        reference=mistakes.merge,
        twins=(merged_with_one_exponential,),
    ),
    explained=HowExplained(
        mistakes=mistakes.MERGE_TORCH,
    ),
)

# ---------------------------------------------------------------- kernels: rows of scores


def rows(case: Case, generator: torch.Generator) -> Tensor:
    """Scores [M, N] as in lesson 02, and rows that rise, fall, or hold −inf for whole blocks."""
    N = case.sizes["N"]
    s = scores(case, generator)
    slope = {"rising": 1.0, "falling": -1.0}.get(case.data, 0.0)
    s = s + slope * torch.linspace(-120, 120, N)
    if case.data == "first blocks −inf":
        s -= 150.0  # whoever goes on with another maximum than −∞ has lost these
        s[:, : min(64, N - 1)] = -math.inf
    if case.data == "last blocks −inf":
        s[:, max(1, N - 64) :] = -math.inf
    if case.data == "empty rows":
        s[:, ::3] = -math.inf
        s[::2] = -math.inf  # the first row, and every second one after it: nothing at all
    return s


def logsumexp_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, N] in the case's dtype and layout."""
    return {"x": lay_out(rows(case, generator).to(case.dtype), case.layout)}


def recompute_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """s [M, N] in the case's dtype and layout, and its lse [M] in fp32."""
    s = rows(case, generator).to(case.dtype)
    lse = reference.logsumexp(s)
    if case.data == "lse is a column":
        lse = torch.stack([torch.full_like(lse, 7.0), lse, torch.full_like(lse, -7.0)], dim=1)[:, 1]
    return {"s": lay_out(s, case.layout), "lse": lse}


def recomputed(s: Tensor, lse: Tensor) -> Tensor:
    """P = exp(S − LSE), and 0 in a row with LSE = −inf: [M, N], [M] → [M, N] in the dtype of s."""
    shift = torch.where(lse == -math.inf, 0.0, lse).unsqueeze(1)
    wide = s if s.dtype == torch.float64 else s.float()
    return (wide - shift).exp().to(s.dtype)


def recomputed_base2(s: Tensor, lse: Tensor) -> Tensor:
    """The same in powers of two, each of the two products rounded: 2^(s log2 e − lse log2 e)."""
    shift = torch.where(lse == -math.inf, 0.0, lse).unsqueeze(1) * reference.LOG2E
    wide = (s if s.dtype == torch.float64 else s.float()) * reference.LOG2E
    return (wide - shift).exp2().to(s.dtype)


def logsumexp(x: Tensor) -> Tensor:
    """log Σ_j exp(x_ij): [M, N] → [M] in fp32 (fp64 for fp64); −inf for a row of nothing but −inf."""
    return reference.logsumexp(x)


def logsumexp_base2(x: Tensor, block: int = 16) -> Tensor:
    """LSE in powers of two, scanned in blocks that start at a very small number instead of −inf."""
    wide = (x if x.dtype == torch.float64 else x.float()) * reference.LOG2E
    m_i, l_i = torch.full_like(wide[:, 0], -1e30), torch.zeros_like(wide[:, 0])
    for part in wide.split(block, dim=1):
        m_new = torch.maximum(m_i, part.amax(dim=1))
        l_i = l_i * (m_i - m_new).exp2() + (part - m_new.unsqueeze(1)).exp2().sum(dim=1)
        m_i = m_new
    return (m_i + l_i.log2()) * math.log(2)


def logsumexp_base2_at_once(x: Tensor) -> Tensor:
    """The same, with the row's own maximum from the start."""
    return logsumexp_base2(x, block=x.shape[1])


def logsumexp_work(inputs: Inputs) -> Work:
    """Per element: maximum, difference, exponential, sum; one read. One number per row is written."""
    x = inputs["x"]
    return Work(operations=4.0 * x.numel(), bytes=x.numel() * x.element_size() + 4.0 * x.shape[0])


def recompute_work(inputs: Inputs) -> Work:
    """Per element: difference and exponential; one read, one write. One number per row is read."""
    s = inputs["s"]
    return Work(operations=2.0 * s.numel(), bytes=2.0 * s.numel() * s.element_size() + 4.0 * s.shape[0])


def torch_logsumexp(x: Tensor) -> Tensor:
    """The peer of online_logsumexp."""
    return torch.logsumexp(x, dim=-1)


def torch_recompute(s: Tensor, lse: Tensor) -> Tensor:
    """The peer of recompute_probabilities: two kernels, and a matrix in fp32 between them."""
    return (s - lse.unsqueeze(1)).exp().to(s.dtype)


SPECIAL = ("rising", "falling", "far below zero", "far above zero")


def _case(title: str, M: int, N: int, dtype: torch.dtype = torch.float32, **more) -> Case:
    """A case of M rows of N, tagged by what its numbers say."""
    tags = {
        "ragged": N % 32 != 0,
        "half": dtype.itemsize == 2,
        "strided": more.get("layout", "contiguous") != "contiguous" or more.get("data") == "lse is a column",
        "large": more.get("magnitude", 1.0) > 10 or more.get("data") in SPECIAL,
        "−inf": "−inf" in more.get("data", "") or more.get("data") == "empty rows",
    }
    return Case(
        title, {"M": M, "N": N}, dtype, tags=frozenset(name for name, on in tags.items() if on), **more
    )


ONLINE_CASES = (
    _case("8×100, four blocks", 8, 100),
    _case("8×128, full blocks", 8, 128, seed=1),
    _case("8×20, below a block", 8, 20, seed=2),
    _case("1×37, one row", 1, 37, seed=3),
    _case("8×1, one column", 8, 1, seed=4),
    _case("5×75, a slice of a wider matrix", 5, 75, layout="strided", seed=5),
    _case("5×70, transposed view", 5, 70, layout="transposed", seed=6),
    _case("8×90, scores around ±30", 8, 90, magnitude=30.0, seed=7),
    _case("9×90, scores around ±100", 9, 90, magnitude=100.0, seed=8),
    _case("5×70, scores near −200", 5, 70, data="far below zero", seed=9),
    _case("5×100, rising from −120 to 120", 5, 100, data="rising", seed=10),
    _case("5×100, falling from 120 to −120", 5, 100, data="falling", seed=11),
    _case("6×96, equal scores", 6, 96, data="equal", seed=12),
    _case("8×70, some scores −inf", 8, 70, data="some −inf", seed=13),
    _case("5×100, two blocks of −inf, then scores near −150", 5, 100, data="first blocks −inf", seed=14),
    _case("5×100, scores, then two blocks of −inf", 5, 100, data="last blocks −inf", seed=15),
    _case("8×70, rows of nothing but −inf", 8, 70, data="empty rows", seed=16),
    _case("6×200, fp16", 6, 200, torch.float16, seed=17),
    _case("6×200, bf16", 6, 200, torch.bfloat16, seed=18),
    _case("4×200, fp16, near 100", 4, 200, torch.float16, data="far above zero", seed=19),
    _case("1×2100, a long row", 1, 2100, seed=24),
    _case("66×3, many rows", 66, 3, seed=25),
    _case("4096×32000, fp16", 4096, 32000, torch.float16, seed=20, gpu=True),
    _case("999×3001, bf16, transposed", 999, 3001, torch.bfloat16, layout="transposed", seed=21, gpu=True),
    _case("64×100000, around ±30", 64, 100000, magnitude=30.0, seed=22, gpu=True),
    _case("64×5000, rows of nothing but −inf", 64, 5000, data="empty rows", seed=23, gpu=True),
)

RECOMPUTE_CASES = (
    _case("3×4, below a tile", 3, 4),
    _case("37×70, ragged both ways", 37, 70, seed=1),
    _case("32×64, full tiles", 32, 64, seed=2),
    _case("1×37, one row", 1, 37, seed=3),
    _case("18×1, one column", 18, 1, seed=4),
    _case("20×24, a slice of a wider matrix", 20, 24, layout="strided", seed=5),
    _case("20×35, transposed view", 20, 35, layout="transposed", seed=6),
    _case("20×35, lse is a column of a wider tensor", 20, 35, data="lse is a column", seed=7),
    _case("17×50, scores around ±30", 17, 50, magnitude=30.0, seed=8),
    _case("9×50, scores around ±100", 9, 50, magnitude=100.0, seed=9),
    _case("9×50, scores near −200", 9, 50, data="far below zero", seed=10),
    _case("3×40, equal scores", 3, 40, data="equal", seed=11),
    _case("10×40, some scores −inf", 10, 40, data="some −inf", seed=12),
    _case("19×40, rows of nothing but −inf", 19, 40, data="empty rows", seed=13),
    _case("20×100, fp16", 20, 100, torch.float16, seed=14),
    _case("20×100, bf16", 20, 100, torch.bfloat16, seed=15),
    _case("10×100, fp16, near 100", 10, 100, torch.float16, data="far above zero", seed=16),
    _case("3×530, long rows", 3, 530, seed=20),
    _case("150×5, many rows", 150, 5, seed=21),
    _case("4096×4096, fp16", 4096, 4096, torch.float16, seed=17, gpu=True),
    _case("999×3001, bf16, transposed", 999, 3001, torch.bfloat16, layout="transposed", seed=18, gpu=True),
    _case("1000×2000, rows of nothing but −inf", 1000, 2000, data="empty rows", seed=19, gpu=True),
)

LONG_ROW = 16500
"""Columns of a row that no block is expected to hold: beyond 16384, the largest power of two below it."""


def one_pass(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a long row is read more than once, or held in one block as a whole.

    A program that loads the row in one piece makes two accesses in all, that load and its store.
    """
    x = torch.linspace(-3.0, 3.0, LONG_ROW).reshape(1, LONG_ROW)
    seen = answer.run({"x": x}, Observed()).completed().observation
    asked = x.numel() * x.element_size()
    if seen.bytes_requested > 1.1 * asked:
        return mistakes.READ_AGAIN.format(asked=asked, requested=seen.bytes_requested)
    if seen.accesses <= 2:
        return mistakes.ROW_IN_ONE_BLOCK.format(columns=LONG_ROW)
    return ""


online_logsumexp = Exercise(
    name="online_logsumexp",
    lesson="04",
    kind=Kind.KERNEL,
    title="Log-sum-exp of rows longer than a block",
    signature="(x) -> lse",
    outputs=("lse",),
    inputs=logsumexp_inputs,
    cases=ONLINE_CASES,
    judged=HowJudged(
        reference=logsumexp,
        twins=(online_scan, logsumexp_base2, logsumexp_base2_at_once),
        output_dtypes={"lse": torch.float32},
        work=logsumexp_work,
        review=one_pass,
    ),
    explained=HowExplained(
        quantities=quantities.logsumexp,
        mistakes=mistakes.ONLINE,
    ),
    timed=HowTimed(
        peer=torch_logsumexp,
        peer_name="torch_logsumexp",
        case=_case("4096×32000, fp16", 4096, 32000, torch.float16, gpu=True),
    ),
    points=3,
    solution="flashlearn.kernels.logsumexp:online_logsumexp",
)

recompute_probabilities = Exercise(
    name="recompute_probabilities",
    lesson="04",
    kind=Kind.KERNEL,
    title="P again, tile by tile, from S and one number per row",
    signature="(s, lse) -> p",
    outputs=("p",),
    inputs=recompute_inputs,
    cases=RECOMPUTE_CASES,
    judged=HowJudged(
        reference=recomputed,
        twins=(recomputed_base2,),
        work=recompute_work,
    ),
    explained=HowExplained(
        quantities=quantities.probabilities,
        mistakes=mistakes.RECOMPUTE,
    ),
    timed=HowTimed(
        peer=torch_recompute,
        peer_name="torch_recompute",
        case=_case("8192×4096, fp16", 8192, 4096, torch.float16, gpu=True),
    ),
    points=2,
    solution="flashlearn.kernels.logsumexp:recompute_probabilities",
)
