"""Of which kind the first NaN of a formula is, and when two kinds are not of one mistake."""

from __future__ import annotations

import re

import pytest
import torch

from flashlearn import check
from flashlearn.explaining.findings.nan_origin import NanOrigin
from flashlearn.explaining.nan_origins import differ, first_in_formula, nan_origin, zero_of
from flashlearn.interpreter.torch_nan import TorchNanOrigin
from flashlearn.judging.cases import run_observed
from flashlearn.lessons import find
from flashlearn.observation import Place
from flashlearn.running.answer import Here
from tests.corpus import function_from_text
from tests.corpus.answer_files import text_of
from tests.corpus.functions import PREAMBLE

INF = torch.tensor([float("inf"), 1.0])


@pytest.mark.parametrize(
    ("formula", "kind"),
    [
        (lambda x: x - x, "inf minus inf"),
        (lambda x: x * torch.zeros(2), "zero times inf"),
        (lambda x: (x * 0.5) / x, "inf over inf"),
        (lambda x: torch.zeros(2) / torch.zeros(2) + x, "zero over zero"),
        (lambda x: x + 1, ""),
        (lambda x: (torch.full((2,), 200.0).exp() - torch.full((2,), 200.0).exp()) * x, ""),
    ],
)
def test_the_first_nan_s_kind(formula, kind):
    assert first_in_formula(formula, {"x": INF}) == kind


def test_a_product_s_nan_is_no_difference_s_and_nan_everywhere_wants_the_same_kind():
    assert differ("zero times inf", "inf minus inf", everywhere=False)
    assert not differ("zero over zero", "inf minus inf", everywhere=False)
    assert differ("zero over zero", "inf minus inf", everywhere=True)
    assert not differ("inf minus inf", "inf minus inf", everywhere=True)


MERGED = """
def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    if (m_a == -float("inf")).all():
        return m_b, l_b, acc_b
    m = torch.maximum(m_a, m_b)
    a, b = torch.exp(m_a - m), torch.exp(m_b - m)
    return m, l_a * a + l_b * b, acc_a * a[..., None] + acc_b * b[..., None]
"""


def test_the_line_of_a_formula_where_its_nan_is_born_is_told():
    finding = check("merge_partials_torch", function_from_text(MERGED), demo=True).finding
    assert "torch.exp(m_a - m)" in finding.place.text


def test_a_mode_tells_the_innermost_line_of_its_file():
    births = TorchNanOrigin(__file__)
    with births:
        INF - INF
    assert births.kind == "inf minus inf" and births.place.text.strip() == "INF - INF"


@pytest.mark.parametrize(
    ("nan", "infinities"),
    [
        (lambda: INF - INF, "+∞ − +∞"),
        (lambda: -INF - -INF, "−∞ − −∞"),
        (lambda: INF + -INF, "+∞ + −∞"),
        (lambda: torch.softmax(torch.full((2,), -float("inf")), 0), "−∞ − −∞"),
        (lambda: torch.stack((INF, -INF)).sum(0), ""),
    ],
)
def test_a_mode_tells_which_infinities_a_nan_is_made_of(nan, infinities):
    with TorchNanOrigin() as births:
        nan()
    assert (births.kind, births.infinities) == ("inf minus inf", infinities)


WRONG_FILL = """
@triton.jit
def kernel(x_ptr, lengths_ptr, lse_ptr, alpha, N, x_row, x_col, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    n = tl.load(lengths_ptr + r)
    c = alpha * 1.4426950408889634
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * x_row + j * x_col, mask=j < n, other=0.0).to(tl.float32)
    top = tl.max(tl.where(j < n, x, -float("inf")), axis=0) * c
    if alpha < 0:
        top = tl.min(tl.where(j < n, x, -float("inf")), axis=0) * c
    if n == 0:
        top = 0.0
    total = tl.sum(tl.where(j < n, tl.exp2(x * c - top), 0.0), axis=0)
    lse = tl.where(n > 0, (top + tl.log2(total)) * 0.6931471805599453, -float("inf"))
    tl.store(lse_ptr + r, lse)


def folded_logsumexp(x, lengths, alpha):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    kernel[(M,)](x, lengths, lse, alpha, N, *x.stride(), BLOCK=triton.next_power_of_2(N))
    return lse
"""


def test_two_finite_numbers_that_make_a_nan_speak_against_a_mistake_that_makes_infinities():
    assert differ("", "zero over zero", everywhere=True)
    assert not differ(
        "", "zero times inf", everywhere=True
    )  # what becomes of an infinity depends on the order


def test_a_sum_of_both_infinities_is_not_told_as_a_difference_of_minus_infinity():
    head = "import torch\nimport triton\nimport triton.language as tl\n"
    finding = check("folded_logsumexp", function_from_text(head + WRONG_FILL), demo=True).finding
    nan = next(one for one in (finding, *finding.parts) if isinstance(one.kind, NanOrigin))
    assert "+∞ and −∞ are added" in nan.sentence
    assert "Where does the +∞ come from, and where the −∞?" in nan.next_step


@pytest.mark.parametrize(
    "line, infinity, zero",
    [
        ("p = tl.exp(s) * norm[:, None]", "norm = tl.exp(-lse)", "exponential"),
        ("p = tl.exp(s - lse) * see.to(tl.float32)", "", ""),
        ("dv = tl.dot(tl.trans(p), do, dv)", "p = tl.exp(s - lse)", ""),
        ("p = one * other", "other = tl.exp(-lse)", "unknown"),
    ],
)
def test_a_zero_that_is_no_mask_gets_no_advice_about_masks(line, infinity, zero):
    places = (
        Place("answer.py", n, text, "kernel") if text else None for n, text in ((2, line), (1, infinity))
    )
    assert zero_of(*places) == zero


EMPTY_LOOP = """
@triton.jit
def kernel(x, out, N, row, column, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    top, total = -float("inf"), 0.0
    for start in range(0, N - 1, BLOCK):
        at = start + tl.arange(0, BLOCK)
        s = tl.load(x + i * row + at * column, mask=at < N, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(s, axis=0))
        base = tl.where(new == -float("inf"), 0.0, new)
        total = total * tl.exp(top - base) + tl.sum(tl.exp(s - base), axis=0)
        top = new
    tl.store(out + i, top + tl.log(total))


def online_logsumexp(x):
    out = torch.empty(x.shape[0], dtype=torch.float32)
    kernel[(x.shape[0],)](x, out, x.shape[1], x.stride(0), x.stride(1), BLOCK=32)
    return out
"""


def test_a_sum_is_said_to_have_no_term_only_where_no_program_reads_one():
    exercise, function = find("online_logsumexp"), function_from_text(EMPTY_LOOP, "online_logsumexp")
    wrong = [run_observed(exercise, function, c) for c in exercise.cases if c.sizes.get("N") == 1][:1]
    finding = nan_origin(exercise, wrong, Here(function, exercise))
    assert "No program reads x in this case" in finding.sentence and "loop not run" in finding.next_step


def test_a_mistake_that_ends_in_nan_alone_is_told_with_the_line_of_the_first():
    text = text_of("flash_forward_causal/wrong_row_has_seen_nothing_yet_minus_inf_minus_minus_inf")
    report = check("flash_forward_causal", function_from_text(text), demo=True)
    assert "NaN appears where a query sees no key." in report.sentence
    (line,) = re.findall(
        r"The first NaN appears in line (\d+): −∞ is subtracted from itself", report.sentence
    )
    assert "exp" in f"{PREAMBLE}{text}".splitlines()[int(line) - 1]
