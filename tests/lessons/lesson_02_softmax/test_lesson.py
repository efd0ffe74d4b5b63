"""Lesson 02: its references are right, its data shows the mistakes, right answers pass in any spelling."""

import math
import re

import pytest
import sympy as sp
import torch
import triton
import triton.language as tl

from flashlearn.course import packaged_lessons
from flashlearn.exercise import Kind
from flashlearn.judging import symbolic
from flashlearn.judging.cases import run
from flashlearn.judging.references import convert, largest_error
from flashlearn.judging.tolerance import Truth
from flashlearn.kernels import softmax as kernels
from flashlearn.lessons import find
from flashlearn.lessons.lesson_02_softmax import pictures
from flashlearn.lessons.lesson_02_softmax.softmax_backward import backward_in_half_precision
from flashlearn.lessons.lesson_02_softmax.softmax_jacobian import jacobian
from flashlearn.lessons.shared.softmax_in_symbols import derivatives, vjp
from flashlearn.outcome import Status
from flashlearn.running.values import as_tuple

KERNELS = {e.name: e for e in (find("softmax_forward"), find("softmax_backward"))}


def statuses(exercise, function):
    """The verdicts of all cases that run on a CPU."""
    outcomes = (
        symbolic.run_symbolic(exercise, function)
        if exercise.kind is Kind.SYMBOLIC
        else run(exercise, function, compiled=False)
    )
    return {o.status for o in outcomes}


# ---------------------------------------------------------------- the symbolic answers


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_references_are_what_sympy_derives_from_softmax_itself(n):
    s = sp.symbols(f"s_:{n}", real=True)
    p = sp.Matrix([sp.exp(v) for v in s]) / sum(sp.exp(v) for v in s)
    dp = derivatives(n)
    derived = p.jacobian(s)
    assert (jacobian(p) - derived).applyfunc(sp.simplify) == sp.zeros(n, n)
    assert (vjp(p, dp) - derived.T * dp).applyfunc(sp.simplify) == sp.zeros(n, 1)


def diagonal_from_the_others(p):
    """p_k (1 − p_k) written as p_k times the sum of the others: right because shares sum to one."""
    n = p.rows
    return sp.Matrix(n, n, lambda k, j: -p[k] * p[j] if k != j else p[k] * (sum(p) - p[k]))


@pytest.mark.parametrize(
    "answer",
    [
        lambda p: sp.Matrix(p.rows, p.rows, lambda k, j: p[k] * (int(k == j) - p[j])),
        lambda p: (sp.eye(p.rows) - p * sp.ones(1, p.rows)) * sp.diag(*p),
        diagonal_from_the_others,
    ],
)
def test_a_right_jacobian_passes_in_any_spelling(answer):
    assert statuses(find("softmax_jacobian"), answer) == {Status.PASS}


def by_pairs(p, dp):
    """ds_j = Σ_k p_j p_k (dp_j − dp_k): only differences of dp count."""
    n = range(p.rows)
    return sp.Matrix([sum(p[j] * p[k] * (dp[j] - dp[k]) for k in n) for j in n])


@pytest.mark.parametrize(
    "answer",
    [
        lambda p, dp: jacobian(p).T * dp,
        lambda p, dp: sp.Matrix([p[j] * (dp[j] - p.dot(dp)) for j in range(p.rows)]),
        by_pairs,
    ],
)
def test_a_right_vjp_passes_in_any_spelling(answer):
    assert statuses(find("softmax_vjp"), answer) == {Status.PASS}


# ---------------------------------------------------------------- right kernels, spelled otherwise


@triton.jit
def other_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, SPELLING: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=j < N, other=-float("inf")).to(tl.float32)
    m_i = tl.max(s, axis=0)
    if SPELLING == "base 2":
        e = tl.exp2((s - m_i) * 1.4426950408889634)
        p = e / tl.sum(e, axis=0)
    elif SPELLING == "logsumexp":
        p = tl.exp(s - (m_i + tl.log(tl.sum(tl.exp(s - m_i), axis=0))))
    else:
        e = tl.exp(s - m_i)
        p = e * (1.0 / tl.sum(e, axis=0))
    tl.store(p_ptr + i * N + j, p, mask=j < N)


@pytest.mark.parametrize("spelling", ["base 2", "logsumexp", "reciprocal"])
def test_a_right_forward_kernel_passes_in_any_spelling(spelling):
    def forward(s):
        p = torch.empty(s.shape, dtype=s.dtype, device=s.device)
        N = s.shape[1]
        other_forward_kernel[(s.shape[0],)](
            s, p, N, *s.stride(), SPELLING=spelling, BLOCK=triton.next_power_of_2(N)
        )
        return p

    assert statuses(find("softmax_forward"), forward) == {Status.PASS}


@triton.jit
def expanded_backward_kernel(p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    p = tl.load(p_ptr + i * p_row + j * p_col, mask=j < N, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=j < N, other=0.0).to(tl.float32)
    tl.store(ds_ptr + i * N + j, p * dp - p * tl.sum(p * dp, axis=0), mask=j < N)


def test_a_backward_kernel_that_multiplies_the_bracket_out_passes():
    def backward(p, dp):
        ds = torch.empty(p.shape, dtype=p.dtype, device=p.device)
        N = p.shape[1]
        expanded_backward_kernel[(p.shape[0],)](
            p, dp, ds, N, *p.stride(), *dp.stride(), BLOCK=triton.next_power_of_2(N)
        )
        return ds

    assert statuses(find("softmax_backward"), backward) == {Status.PASS}


# ---------------------------------------------------------------- the data


def test_the_noise_of_a_sum_in_half_precision_is_what_the_lesson_says():
    noise = {}
    for function in (kernels.softmax_backward, backward_in_half_precision):
        for outcome in run(find("softmax_backward"), function, compiled=False):
            noise[function, outcome.case.name] = outcome.outputs[0].rms_ratio
    assert 1.05 < noise[backward_in_half_precision, "3×200, bf16"] < 1.15  # "1.1 times what is allowed"
    assert 0.85 < noise[backward_in_half_precision, "3×200, fp16"] < 0.95  # "nine tenths, and passes"
    for case in ("3×200, bf16", "3×200, fp16"):
        assert 0.6 < noise[kernels.softmax_backward, case] < 0.7  # "two thirds of it"


SEEN_BY_ROUNDING = {"inner product divided by the sum of p"}
"""Mistakes that are none in exact arithmetic: only the rounding of what is stored shows them."""


@pytest.mark.parametrize(
    "kernel, name",
    [(k, name) for k, e in KERNELS.items() for name, m in e.explained.mistakes.items() if m.wrong],
)
def test_every_named_mistake_misses_some_case_by_ten_times_what_is_allowed(kernel, name):
    exercise, worst = KERNELS[kernel], 0.0
    for case in exercise.cases:
        if not case.gpu:
            inputs = exercise.inputs(case, case.generator())
            truth = Truth(exercise, inputs)
            wrong = as_tuple(exercise.explained.mistakes[name].wrong(**convert(inputs, torch.float64)))[0]
            allowed = truth.allowed(0)[0]
            worst = max(worst, largest_error(wrong.to(case.dtype), truth.expected[0]) / max(allowed, 1e-9))
    assert worst > (1.5 if name in SEEN_BY_ROUNDING else 10)


@pytest.mark.parametrize(
    "kernel, name",
    [(k, name) for k, e in KERNELS.items() for name, m in e.explained.mistakes.items() if m.launcher],
)
def test_every_broken_kernel_gets_the_verdict_that_is_declared(kernel, name):
    mistake = KERNELS[kernel].explained.mistakes[name]
    assert mistake.status in statuses(KERNELS[kernel], mistake.launcher)


def drawn(exercise):
    """Every case's name and inputs, without the large ones."""
    return [(c, exercise.inputs(c, c.generator())) for c in exercise.cases if not c.gpu]


def test_every_row_of_scores_has_something_to_attend_to():
    for case, inputs in drawn(find("softmax_forward")):
        assert torch.isfinite(inputs["s"].float()).any(dim=1).all(), case.name
    hidden = [torch.isinf(inputs["s"]).any() for case, inputs in drawn(find("softmax_forward"))]
    assert sum(map(bool, hidden)) == 1


WITH_50S = ("strided", "every 2nd column")


def test_strided_cases_are_views_whose_neighbours_would_be_seen():
    slices = [(c, i) for e in KERNELS.values() for c, i in drawn(e) if c.layout in WITH_50S]
    assert len(slices) == 3
    for _, inputs in slices:
        view = next(t for t in inputs.values() if not t.is_contiguous())
        storage = torch.empty(0, dtype=view.dtype).set_(view.untyped_storage())
        assert (storage == 50).sum() >= view.shape[0] * 7


def test_p_and_dp_have_different_strides_in_some_cases_either_way():
    pairs = [(i["p"].is_contiguous(), i["dp"].is_contiguous()) for _, i in drawn(find("softmax_backward"))]
    assert {(True, True), (True, False), (False, True)} == set(pairs)


def test_exp_without_a_maximum_overflows_and_underflows_on_the_data():
    kinds = set()
    for _, inputs in drawn(find("softmax_forward")):
        e = inputs["s"].float().exp()
        kinds |= {"overflow"} if e.isinf().any() else set()
        kinds |= {"underflow"} if (e.sum(dim=1) == 0).any() else set()
    assert kinds == {"overflow", "underflow"}


# ---------------------------------------------------------------- the kernels


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (2, 128), (4, 300)])
def test_the_kernels_agree_with_torch_and_autograd(shape):
    generator = torch.Generator().manual_seed(0)
    s = (3 * torch.randn(shape, generator=generator)).to(lesson_device()).requires_grad_()
    dp = torch.randn(shape, generator=generator).to(s.device)
    p = torch.softmax(s, dim=-1)
    p.backward(dp)
    torch.testing.assert_close(kernels.softmax_forward(s.detach()), p.detach(), rtol=1e-5, atol=1e-7)
    ds = kernels.softmax_backward(p.detach(), dp)
    torch.testing.assert_close(ds, s.grad, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(ds.sum(dim=1), torch.zeros_like(ds[:, 0]), rtol=0, atol=1e-5)


def lesson_device():
    """Where the lesson puts its tensors."""
    import flashlearn

    return flashlearn.DEVICE


def test_a_row_of_minus_infinity_is_nan_as_in_torch():
    s = torch.full((1, 3), -math.inf, device=lesson_device())
    assert kernels.softmax_forward(s).isnan().all() and torch.softmax(s, dim=-1).isnan().all()


# ---------------------------------------------------------------- the pictures

P, DP = [1 / 6, 1 / 3, 1 / 2], [1.0, -2.0, 0.0]


@pytest.mark.parametrize(
    "picture, says",
    [
        (pictures.exponential_range(), "fp32: -104.0 to 88.7"),
        (pictures.jacobian(P), "0.139 −0.056 −0.083"),
        (pictures.competition(P, j=1), "−0.056, 0.222, −0.167, which sum to 0"),
        (pictures.deviations(P, DP), "ds = 0.25, −0.5, 0.25"),
        (pictures.bytes_per_row(4096, 4), "64 MiB"),
        (pictures.forward_lanes([0.7, 1.4, 2.1], 4), "sums to 1."),
        (pictures.forward_lanes([0.7, 1.4, 2.1], 4, other=0.0), "sums to 0.9"),
    ],
)
def test_each_picture_is_drawn_and_says_what_it_shows(picture, says):
    assert says in picture.description
    assert picture.png().startswith(b"\x89PNG")


# ---------------------------------------------------------------- the text


@pytest.mark.parametrize(
    ("exercise", "formulas"),
    [
        ("softmax_jacobian", (r"\mathrm{diag}(p) - p", r"-p\,p^\top", "diag(p)", "p pᵀ")),
        ("softmax_vjp", (r"p \circ (dp", r"p_j \bigl(dp_j", "p \\circ dp")),
    ],
)
def test_no_answer_is_unfolded_right_below_its_check(exercise: str, formulas: tuple[str, ...]):
    source = next(s for s in packaged_lessons.sources() if s.startswith("02_"))
    cells = packaged_lessons.lesson_source(source).cells
    at = next(i for i, cell in enumerate(cells) if f'check("{exercise}"' in cell.solved)
    below = "\n".join(cell.solved for cell in cells[at + 1 : at + 7])
    unfolded = re.sub(r"<details>.*?</details>", "", below, flags=re.DOTALL)
    assert "once your check has passed" in below
    assert [formula for formula in formulas if formula in unfolded] == []
