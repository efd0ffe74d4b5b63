"""Lesson 04: right answers pass in any spelling, near misses do not, and the data shows every mistake."""
# ruff: noqa: E741  (l is the sum's name in the papers, in the lesson and in the kernels)

import math

import pytest
import sympy as sp
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.exercise import Kind
from flashlearn.judging import symbolic
from flashlearn.judging.cases import run
from flashlearn.judging.references import convert, largest_error
from flashlearn.judging.tolerance import Truth
from flashlearn.kernels import logsumexp as kernels
from flashlearn.lessons import find
from flashlearn.lessons.lesson_04_logsumexp import merge_partials as merging
from flashlearn.lessons.lesson_04_logsumexp import merge_partials_torch as merging_in_torch
from flashlearn.lessons.lesson_04_logsumexp import pictures
from flashlearn.lessons.lesson_04_logsumexp.lse_identity import identity
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.faulty_formulas.rows import logsumexp
from flashlearn.outcome import Status
from flashlearn.running.values import as_tuple
from tests.corpus import find_entry
from tests.reviewing import reviewed

BLOCK = 32  # as the launcher of online_logsumexp has it for rows of up to 1024
KERNELS = {e.name: e for e in (find("online_logsumexp"), find("recompute_probabilities"))}
NUMERIC = {**KERNELS, "merge_partials_torch": find("merge_partials_torch")}


def outcomes(exercise, function):
    """The outcomes of all cases that run on a CPU."""
    if exercise.kind is Kind.SYMBOLIC:
        return symbolic.run_symbolic(exercise, function)
    return run(exercise, function, compiled=False)


def statuses(exercise, function):
    return {o.status for o in outcomes(exercise, function)}


# ---------------------------------------------------------------- lse_identity


def column(function, s):
    return s.applyfunc(function)


IDENTITIES = {
    "one logarithm": lambda s, m, l: (
        sp.log(sp.exp(m) * l),
        column(lambda x: sp.exp(x - m - sp.log(l)), s),
    ),
    "a quotient": lambda s, m, l: (m + sp.log(l), column(lambda x: sp.exp(x - m) / l, s)),
    "minus log of 1/l": lambda s, m, l: (m - sp.log(1 / l), column(lambda x: sp.exp(x) / (sp.exp(m) * l), s)),
    "from the scores": lambda s, m, l: (
        sp.log(sum(map(sp.exp, s))),
        s.applyfunc(sp.exp) / sum(map(sp.exp, s)),
    ),
    "a list": lambda s, m, l: (sp.log(l) + m, [sp.exp(x - (sp.log(l) + m)) for x in s]),
    "a power": lambda s, m, l: [m + sp.log(l), sp.Matrix([sp.E**x * sp.E ** (-m - sp.log(l)) for x in s])],
    "half the log of the square": lambda s, m, l: (
        m + sp.log(l**2) / 2,
        column(lambda x: 1 / (l * sp.exp(m - x)), s),
    ),
}


@pytest.mark.parametrize("name", IDENTITIES)
def test_a_right_identity_passes_in_any_spelling(name):
    assert statuses(find("lse_identity"), IDENTITIES[name]) == {Status.PASS}


@pytest.mark.parametrize(
    "answer",
    [
        lambda s, m, l: (m + sp.log(l + 1), identity(s, m, l)[1]),
        lambda s, m, l: (sp.log(l) - m, identity(s, m, l)[1]),
        lambda s, m, l: (m + sp.log(l), s.applyfunc(lambda x: sp.exp(m + sp.log(l) - x))),
        lambda s, m, l: (m + sp.log(l), s.applyfunc(lambda x: sp.exp(x - sp.log(l)))),
    ],
)
def test_a_near_miss_of_the_identity_gets_a_counterexample(answer):
    wrong = [o for o in outcomes(find("lse_identity"), answer) if o.status is Status.WRONG]
    assert wrong and any("should be" in o.message for o in wrong)


def test_the_identity_is_the_logarithm_of_the_sum():
    s, m = sp.Matrix(sp.symbols("s_1:4", real=True)), sp.Symbol("m", real=True)
    lse, p = identity(s, m, sum(sp.exp(x - m) for x in s))
    total = sum(map(sp.exp, s))
    assert sp.simplify(sp.exp(lse) - total) == 0
    assert (p - s.applyfunc(sp.exp) / total).applyfunc(sp.simplify) == sp.zeros(3, 1)


# ---------------------------------------------------------------- merge_partials


def by_cases(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Piecewise((m_a, m_a >= m_b), (m_b, True))
    w_a, w_b = sp.exp(m_a - m), sp.exp(m_b - m)
    return m, l_a * w_a + l_b * w_b, acc_a * w_a + acc_b * w_b


def by_absolute_value(m_a, l_a, acc_a, m_b, l_b, acc_b):
    if sp.oo in (abs(m_a), abs(m_b)):  # |∞| has no arithmetic
        return merging.merged(m_a, l_a, acc_a, m_b, l_b, acc_b)
    m = (m_a + m_b + sp.Abs(m_a - m_b)) / 2
    return (
        m,
        sp.exp(m_a - m) * l_a + sp.exp(m_b - m) * l_b,
        sp.exp(m_a - m) * acc_a + sp.exp(m_b - m) * acc_b,
    )


def in_plain_units(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    unit = sp.exp(-m)
    return (
        m,
        unit * (sp.exp(m_a) * l_a + sp.exp(m_b) * l_b),
        unit * (sp.exp(m_a) * acc_a + sp.exp(m_b) * acc_b),
    )


def entry_by_entry(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_b, m_a)
    w_a, w_b = sp.E ** (m_a - m), sp.E ** (m_b - m)
    return [m, w_b * l_b + w_a * l_a, [w_a * x + w_b * y for x, y in zip(acc_a, acc_b, strict=True)]]


def by_name(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m, l, acc = merging.merged(m_a, l_a, acc_a, m_b, l_b, acc_b)
    return {"acc": acc, "l": sp.expand(l), "m": m}


def with_l_as_a_further_column(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    both = sp.exp(m_a - m) * acc_a.row_join(sp.Matrix([l_a]))
    both += sp.exp(m_b - m) * acc_b.row_join(sp.Matrix([l_b]))
    return m, both[-1], both[:, :-1]


MERGES = (
    by_cases,
    by_absolute_value,
    in_plain_units,
    entry_by_entry,
    by_name,
    with_l_as_a_further_column,
)


@pytest.mark.parametrize("answer", MERGES, ids=lambda f: f.__name__)
def test_a_right_merge_passes_in_any_spelling(answer):
    assert statuses(find("merge_partials"), answer) == {Status.PASS}


@pytest.mark.parametrize(
    "index, change",
    [
        (0, lambda m, given: (given["m_a"] + given["m_b"]) / 2),
        (1, lambda l, given: l + given["l_a"] * given["l_b"]),
        (2, lambda acc, given: acc - given["acc_b"]),
        (2, lambda acc, given: 2 * acc),
    ],
)
def test_a_near_miss_of_the_merge_is_rejected(index, change):
    def answer(*values):
        given = dict(zip(merging.PARTS, values, strict=True))
        merged = list(merging.merged(*values))
        merged[index] = change(merged[index], given)
        return tuple(merged)

    wrong = [o for o in outcomes(find("merge_partials"), answer) if o.status is not Status.PASS]
    assert wrong and all(o.message for o in wrong)


# ---------------------------------------------------------------- merge_partials_torch


def with_nan_to_num(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.maximum(m_a, m_b)
    w_a, w_b = (m_a - m).exp().nan_to_num(0.0), (m_b - m).exp().nan_to_num(0.0)
    return m, l_b * w_b + l_a * w_a, acc_b * w_b[..., None] + acc_a * w_a[..., None]


def with_a_clamp(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.maximum(m_a, m_b)
    shift = m.clamp(min=-1e30)
    w = torch.stack([m_a - shift, m_b - shift]).exp()
    l = (w * torch.stack([l_a, l_b])).sum(0)
    return m, l, (w.unsqueeze(-1) * torch.stack([acc_a, acc_b])).sum(0)


@pytest.mark.parametrize(
    "answer", [with_nan_to_num, with_a_clamp, merging_in_torch.merged_with_one_exponential]
)
def test_a_right_merge_in_torch_passes_in_any_spelling(answer):
    assert statuses(find("merge_partials_torch"), answer) == {Status.PASS}


def test_merging_the_parts_of_a_row_gives_attention():
    generator = torch.Generator().manual_seed(0)
    s, v = torch.randn(5, 9, generator=generator).double(), torch.randn(9, 3, generator=generator).double()
    s[2, :4] = -math.inf
    s[3] = -math.inf

    def part(s, v):
        m = s.amax(dim=1)
        e = (s - torch.where(m == -math.inf, 0.0, m)[:, None]).exp()
        return m, e.sum(dim=1), e @ v

    m, l, acc = merging_in_torch.merge(*part(s[:, :4], v[:4]), *part(s[:, 4:], v[4:]))
    torch.testing.assert_close(m + l.log(), reference.logsumexp(s))
    torch.testing.assert_close(acc / torch.where(l == 0, 1.0, l)[:, None], reference.softmax(s) @ v)


# ---------------------------------------------------------------- right kernels, spelled otherwise


@triton.jit
def other_online_kernel(x_ptr, lse_ptr, N, x_row, x_col, SPELLING: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    if SPELLING == "per lane":  # every lane carries a part of its own; they are merged at the end
        m = tl.full((BLOCK,), -float("inf"), tl.float32)
        l = tl.zeros((BLOCK,), tl.float32)
        for start in range(0, N, BLOCK):
            j = start + lanes
            x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
            m_new = tl.maximum(m, x)
            shift = tl.where(m_new == -float("inf"), 0.0, m_new)
            l = l * tl.exp(m - shift) + tl.exp(x - shift)
            m = m_new
        m_i = tl.max(m, axis=0)
        shift_i = tl.where(m_i == -float("inf"), 0.0, m_i)
        tl.store(lse_ptr + i, m_i + tl.log(tl.sum(l * tl.exp(m - shift_i), axis=0)))
    elif SPELLING == "two passes":
        m_i = tl.full((), -1e30, tl.float32)
        for start in range(0, N, BLOCK):
            j = start + lanes
            x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
            m_i = tl.maximum(m_i, tl.max(x, axis=0))
        l_i = tl.full((), 0.0, tl.float32)
        for start in range(0, N, BLOCK):
            j = start + lanes
            x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
            l_i += tl.sum(tl.exp(x - m_i), axis=0)
        tl.store(lse_ptr + i, m_i + tl.log(l_i))
    else:  # powers of two, the maximum starting at a large negative number in place of −inf
        m_i = tl.full((), -1e30, tl.float32)
        l_i = tl.full((), 0.0, tl.float32)
        for start in range(0, N, BLOCK):
            j = start + lanes
            x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
            x = x * 1.4426950408889634
            m_new = tl.maximum(m_i, tl.max(x, axis=0))
            l_i = l_i * tl.exp2(m_i - m_new) + tl.sum(tl.exp2(x - m_new), axis=0)
            m_i = m_new
        tl.store(lse_ptr + i, (m_i + tl.log2(l_i)) * 0.6931471805599453)


@pytest.mark.parametrize("spelling", ["per lane", "two passes", "base 2"])
def test_a_right_scan_passes_in_any_spelling(spelling):
    def online(x):
        lse = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
        other_online_kernel[(x.shape[0],)](x, lse, x.shape[1], *x.stride(), SPELLING=spelling, BLOCK=16)
        return lse

    assert statuses(find("online_logsumexp"), online) == {Status.PASS}


@triton.jit
def row_recompute_kernel(s_ptr, lse_ptr, p_ptr, N, s_row, s_col, lse_row, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    lse = tl.load(lse_ptr + i * lse_row)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + i * s_row + j * s_col, mask=j < N, other=0.0).to(tl.float32)
        p = tl.exp2((s - lse) * 1.4426950408889634)
        tl.store(p_ptr + i * N + j, tl.where(lse == -float("inf"), 0.0, p), mask=j < N)


def test_rebuilding_row_by_row_in_powers_of_two_passes():
    def recompute(s, lse):
        p = torch.empty(s.shape, dtype=s.dtype, device=s.device)
        row_recompute_kernel[(s.shape[0],)](s, lse, p, s.shape[1], *s.stride(), *lse.stride(), BLOCK=32)
        return p

    assert statuses(find("recompute_probabilities"), recompute) == {Status.PASS}


# ---------------------------------------------------------------- the data


@pytest.mark.parametrize(
    "exercise, name",
    [(e, name) for e, x in NUMERIC.items() for name, m in x.explained.mistakes.items() if m.wrong],
)
def test_every_named_mistake_misses_some_case_by_ten_times_what_is_allowed(exercise, name):
    exercise, worst = NUMERIC[exercise], 0.0
    for case in exercise.cases:
        if not case.gpu:
            inputs = exercise.inputs(case, case.generator())
            truth = Truth(exercise, inputs)
            wrong = as_tuple(exercise.explained.mistakes[name].wrong(**convert(inputs, torch.float64)))
            for k, out in enumerate(wrong):
                error = largest_error(out.to(truth.dtypes[k]), truth.expected[k])
                worst = max(worst, error / max(truth.allowed(k)[0], 1e-9))
    assert worst > 10


@pytest.mark.parametrize(
    "kernel, name",
    [(k, name) for k, e in KERNELS.items() for name, m in e.explained.mistakes.items() if m.launcher],
)
def test_every_broken_kernel_gets_the_verdict_that_is_declared(kernel, name):
    mistake = KERNELS[kernel].explained.mistakes[name]
    assert mistake.status in statuses(KERNELS[kernel], mistake.launcher)


def drawn(exercise):
    """Every case and its inputs, without the large ones."""
    return [(c, exercise.inputs(c, c.generator())) for c in exercise.cases if not c.gpu]


def test_most_rows_of_the_scan_are_longer_than_a_block():
    longer = [inputs["x"].shape[1] > BLOCK for _, inputs in drawn(find("online_logsumexp"))]
    assert sum(longer) >= 0.8 * len(longer)


@pytest.mark.parametrize("kernel", KERNELS)
def test_cases_have_single_entries_of_minus_infinity_and_whole_rows_of_them(kernel):
    single = whole = 0
    for _, inputs in drawn(KERNELS[kernel]):
        hidden = torch.isinf(next(iter(inputs.values())).float())
        whole += int(hidden.all(dim=1).sum())
        single += int((hidden & ~hidden.all(dim=1, keepdim=True)).sum())
    assert whole >= 2 and single >= 20


def test_some_scans_begin_and_some_end_with_a_block_of_nothing():
    blocks = [i["x"].float().split(BLOCK, dim=1) for _, i in drawn(find("online_logsumexp"))]
    several = [b for b in blocks if len(b) > 1 and not torch.isinf(torch.cat(b, dim=1)).all(dim=1).any()]
    assert any(torch.isinf(b[0]).all(dim=1).any() for b in several)
    assert any(torch.isinf(b[-1]).all(dim=1).any() for b in several)


def test_the_scan_in_torch_is_the_reference():
    for case, inputs in drawn(find("online_logsumexp")):
        x = inputs["x"].double()
        torch.testing.assert_close(logsumexp(x, tile=(1, BLOCK)), reference.logsumexp(x), msg=case.name)


# ---------------------------------------------------------------- the kernels


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (2, 128), (3, 300)])
def test_the_kernels_agree_with_torch(shape):
    s = (3 * torch.randn(shape, generator=torch.Generator().manual_seed(0))).to(flashlearn.DEVICE)
    lse = kernels.online_logsumexp(s)
    torch.testing.assert_close(lse, torch.logsumexp(s, dim=1))
    p = kernels.recompute_probabilities(s, lse)
    torch.testing.assert_close(p, torch.softmax(s, dim=1), rtol=1e-5, atol=1e-7)


def test_a_row_of_minus_infinity_has_lse_minus_infinity_and_no_probabilities():
    s = torch.full((2, 70), -math.inf, device=flashlearn.DEVICE)
    lse = kernels.online_logsumexp(s)
    assert torch.isneginf(lse).all()
    assert (kernels.recompute_probabilities(s, lse) == 0).all()


@pytest.mark.parametrize(("S_q", "S_k", "block"), [(32, 48, 16), (40, 70, 16), (64, 32, 32)])
def test_the_bytes_of_a_rebuilding_pass_are_those_of_the_lesson_s_formula(S_q, S_k, block):
    D, size = 16, 4
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, S_q, D, generator=generator), torch.randn(2, S_k, D, generator=generator)
    lse = torch.logsumexp(0.25 * q @ k.mT, dim=-1)
    with flashlearn.observing() as (session, _):
        sums = kernels.row_sums_rebuilt(q, k, lse, 0.25, block)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    blocks = -(-S_q // block)
    per_head = size * (S_q * D + blocks * S_k * D) + 4 * S_q + 4 * S_q
    assert session.observation().bytes_requested == 2 * per_head
    assert session.observation().bytes_unique == 2 * (size * (S_q + S_k) * D + 8 * S_q)


def test_both_row_sums_are_the_same_number():
    generator = torch.Generator().manual_seed(1)
    q, k = (torch.randn(1, n, 16, generator=generator).to(flashlearn.DEVICE) for n in (20, 37))
    s = 0.25 * q @ k.mT
    stored = kernels.row_sums_stored(torch.softmax(s, dim=-1))
    rebuilt = kernels.row_sums_rebuilt(q, k, torch.logsumexp(s, dim=-1), 0.25)
    torch.testing.assert_close(stored, rebuilt)


# ---------------------------------------------------------------- the pictures


@pytest.mark.parametrize(
    "picture, says",
    [
        (pictures.online_scan([0.0, math.log(2), math.log(3)], 1), "m = 1.1, l = 2"),
    ],
)
def test_each_picture_is_drawn_and_says_what_it_shows(picture, says):
    assert says in picture.description
    assert picture.png().startswith(b"\x89PNG")


# ---------------------------------------------------------------- one pass


def test_the_scan_is_one_pass_in_blocks_shorter_than_the_row():
    assert reviewed(find("online_logsumexp"), kernels.online_logsumexp) == ""


@pytest.mark.parametrize(
    "title, says",
    [
        ("one loop for the maximum, one for the sum", "read more than once"),
        ("the whole row in one block", "held in one block"),
    ],
)
def test_right_numbers_by_another_way_are_told_what_the_lesson_asks_for(title, says):
    answer = find_entry("online_logsumexp", title).function
    assert says in reviewed(find("online_logsumexp"), answer)
