"""Lesson 03: its references are right, its data shows the mistakes, right answers pass in any spelling."""

import math

import pytest
import sympy as sp
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.judging import symbolic
from flashlearn.judging.cases import run
from flashlearn.judging.references import convert, largest_error
from flashlearn.judging.tolerance import Truth
from flashlearn.kernels import delta as kernels
from flashlearn.lessons import find
from flashlearn.lessons.lesson_03_attention_backward import one_walk, pictures
from flashlearn.lessons.lesson_03_attention_backward.attention_backward import backward
from flashlearn.lessons.lesson_03_attention_backward.attention_dq_dk import dq_dk
from flashlearn.lessons.lesson_03_attention_backward.attention_dv_dp import dv_dp
from flashlearn.lessons.lesson_03_attention_backward.delta_identity import identity, identity_inputs
from flashlearn.lessons.lesson_03_attention_backward.delta_preprocess import delta_inputs
from flashlearn.lessons.lesson_03_attention_backward.lse_gradient import lse_vjp
from flashlearn.lessons.lesson_03_attention_backward.one_head import backward_inputs
from flashlearn.lessons.lesson_03_attention_backward.symbolic_matrices import symbol_matrix
from flashlearn.lessons.shared import example, reference
from flashlearn.lessons.shared.softmax_in_symbols import derivatives, vjp
from flashlearn.outcome import Status
from flashlearn.running.values import as_tuple

NUMERIC = {e.name: e for e in (find("attention_backward"), find("dq_in_one_walk"), find("delta_preprocess"))}
SYMBOLIC = {
    e.name: e
    for e in (find("attention_dv_dp"), find("delta_identity"), find("lse_gradient"), find("attention_dq_dk"))
}


def statuses(exercise, function):
    """The verdicts of all cases that run on a CPU."""
    outcomes = (
        symbolic.run_symbolic(exercise, function)
        if exercise.name in SYMBOLIC
        else run(exercise, function, compiled=False)
    )
    return {o.status for o in outcomes}


def matrix(rows, columns, entry):
    """A matrix from a function of its indices."""
    return sp.Matrix(rows, columns, entry)


# ---------------------------------------------------------------- the symbolic answers

ALPHA = sp.Symbol("alpha", real=True)


def differentiated(loss, m):
    """The gradient of a scalar by each entry of a matrix of symbols."""
    return matrix(*m.shape, lambda a, b: sp.diff(loss, m[a, b]))


def test_the_references_are_what_sympy_derives_from_the_forward_pass():
    p, v, do = (symbol_matrix(n, *shape) for n, shape in (("P", (2, 3)), ("V", (3, 2)), ("dO", (2, 2))))
    loss = sp.trace(do.T * p * v)
    assert dv_dp(p, v, do) == (differentiated(loss, v), differentiated(loss, p))
    q, k, ds = (symbol_matrix(n, *shape) for n, shape in (("Q", (2, 2)), ("K", (3, 2)), ("dS", (2, 3))))
    loss = sp.expand(ALPHA * sp.trace(ds.T * q * k.T))
    for got, wanted in zip(
        dq_dk(q, k, ds, ALPHA), (differentiated(loss, q), differentiated(loss, k)), strict=True
    ):
        assert (got - wanted).expand() == sp.zeros(*got.shape)


def test_the_lse_reference_is_the_derivative_of_a_loss_that_uses_both():
    s = sp.symbols("s_:3", real=True)
    total = sum(sp.exp(x) for x in s)
    p, dp, dlse = sp.Matrix([sp.exp(x) / total for x in s]), derivatives(3), sp.Symbol("dlse")
    loss = p.dot(dp) + dlse * sp.log(total)
    difference = lse_vjp(p, dp, dlse) - sp.Matrix([sp.diff(loss, x) for x in s])
    assert difference.applyfunc(sp.simplify) == sp.zeros(3, 1)


def test_delta_is_the_mean_of_dp_under_p_for_any_numbers():
    drawn = identity_inputs(find("delta_identity").cases[1], torch.Generator())
    P, V, dO, i = (drawn[name] for name in ("P", "V", "dO", "i"))
    dP = [sum(dO[i, d] * V[j, d] for d in range(2)) for j in range(3)]
    delta = identity(**drawn)[1].doit()
    assert sp.expand(delta - sum(P[i, j] * dP[j] for j in range(3))) == 0


def sums(p, v, do):
    dv = matrix(v.rows, v.cols, lambda j, d: sum(p[i, j] * do[i, d] for i in range(p.rows)))
    dp = matrix(p.rows, p.cols, lambda i, j: sum(do[i, d] * v[j, d] for d in range(v.cols)))
    return dv, dp


DV_DP = [
    lambda p, v, do: [p.T * do, do * v.T],
    lambda p, v, do: ((do.T * p).T, (v * do.T).T),
    lambda p, v, do: (p.transpose() @ do, do @ v.transpose()),
    lambda p, v, do: {"dv": p.T * do, "dp": do * v.T},
    lambda p, v, do: ((p.T * do).tolist(), (do * v.T).tolist()),
    lambda p, v, do: (
        differentiated(sp.trace(do.T * p * v), v) if v.free_symbols else p.T * do,
        do * v.T,
    ),
    sums,
]
J, E = sp.symbols("n c", integer=True)


def nested(P, V, dO, i, d, S_k, D, o=None):
    o_ = lambda c: sp.Sum(P[i, J] * V[J, c], (J, 0, S_k - 1))  # noqa: E731
    return o_(d), sp.Sum(dO[i, E] * o_(E), (E, 0, D - 1))


def flat(P, V, dO, i, d, S_k, D):
    o_id = sp.Sum(P[i, J] * V[J, d], (J, 0, S_k - 1))
    return o_id, sp.Sum(P[i, J] * V[J, d] * dO[i, d], (J, 0, S_k - 1), (d, 0, D - 1))


def by_rows(P, V, dO, i, d, S_k, D):
    o_id = sp.Sum(P[i, J] * V[J, d], (J, 0, S_k - 1))
    return o_id, sp.Sum(P[i, J] * sp.Sum(dO[i, E] * V[J, E], (E, 0, D - 1)), (J, 0, S_k - 1))


def counted_from_one(P, V, dO, i, d, S_k, D):
    o_ = lambda c: sp.Sum(P[i, J - 1] * V[J - 1, c], (J, 1, S_k))  # noqa: E731
    return o_(d), sp.Sum(dO[i, E - 1] * o_(E - 1), (E, 1, D))


def backwards(P, V, dO, i, d, S_k, D):
    o_ = lambda c: sp.Sum(V[S_k - 1 - J, c] * P[i, S_k - 1 - J], (J, 0, S_k - 1))  # noqa: E731
    return o_(d), sp.Sum(o_(E) * dO[i, E], (E, 0, D - 1))


IDENTITY = [
    nested,
    flat,
    by_rows,
    counted_from_one,
    backwards,
    lambda *a: list(nested(*a)),
    lambda *a: dict(zip(("o_id", "delta_i"), flat(*a), strict=True)),
]
LSE = [
    lambda p, dp, dlse: vjp(p, dp) + dlse * p,
    lambda p, dp, dlse: p.multiply_elementwise(dp - sp.ones(p.rows, 1) * (p.dot(dp) - dlse)),
    lambda p, dp, dlse: sp.Matrix([p[j] * (dp[j] - (p.dot(dp) - dlse)) for j in range(p.rows)]),
    lambda p, dp, dlse: [p[j] * dp[j] - p[j] * p.dot(dp) + p[j] * dlse for j in range(p.rows)],
    lambda p, dp, dlse: sp.diag(*p) * (dp + sp.ones(p.rows, 1) * dlse) - p * (p.T * dp),
    lambda p, dp, dlse: (sp.diag(*p) - p * p.T) * dp + p * dlse,
    lambda p, dp, dlse: (sp.diag(*p) - p * (p - dlse * sp.ones(p.rows, 1)).T) * dp + p * dlse * (1 - sum(dp)),
]
DQ_DK = [
    lambda q, k, ds, alpha: (alpha * ds * k, alpha * ds.T * q),
    lambda q, k, ds, alpha: [ds * (alpha * k), ds.T * (alpha * q)],
    lambda q, k, ds, alpha: (alpha * (k.T * ds.T).T, alpha * (q.T * ds).T),
    lambda q, k, ds, alpha: {"dq": (alpha * ds) @ k, "dk": (alpha * ds).T @ q},
    lambda q, k, ds, alpha: ((ds * k).applyfunc(lambda x: alpha * x), (ds.T * q) / (1 / alpha)),
    lambda q, k, ds, alpha: (
        matrix(*q.shape, lambda i, d: alpha * sum(ds[i, j] * k[j, d] for j in range(k.rows))),
        matrix(*k.shape, lambda j, d: alpha * sum(ds[i, j] * q[i, d] for i in range(q.rows))),
    ),
]
SPELLINGS = {
    "attention_dv_dp": DV_DP,
    "delta_identity": IDENTITY,
    "lse_gradient": LSE,
    "attention_dq_dk": DQ_DK,
}


@pytest.mark.parametrize("name, answer", [(n, a) for n, answers in SPELLINGS.items() for a in answers])
def test_a_right_answer_passes_in_any_spelling(name, answer):
    assert len(SPELLINGS[name]) >= 6
    assert statuses(SYMBOLIC[name], answer) == {Status.PASS}


NEAR_MISSES = [
    ("attention_dv_dp", lambda p, v, do: (p.T * do, -do * v.T)),
    ("attention_dv_dp", lambda p, v, do: (p.T * do, do * v.T + sp.ones(*p.shape))),
    ("attention_dv_dp", lambda p, v, do: (p.T.multiply_elementwise(p.T) * do, do * v.T)),
    ("delta_identity", lambda *a: (nested(*a)[0], nested(*a)[1] / a[-1])),
    ("delta_identity", lambda *a: (nested(*a)[0], nested(*a)[0] * a[2][a[3], a[4]])),
    ("delta_identity", lambda *a: (2 * nested(*a)[0], nested(*a)[1])),
    ("lse_gradient", lambda p, dp, dlse: vjp(p, dp) + dlse * p.multiply_elementwise(p)),
    ("lse_gradient", lambda p, dp, dlse: vjp(p, dp + sp.ones(p.rows, 1) * dlse)),
    ("attention_dq_dk", lambda q, k, ds, alpha: (alpha * ds * k, sp.sqrt(alpha**2) * ds.T * q)),
    ("attention_dq_dk", lambda q, k, ds, alpha: (alpha * ds * k, alpha * ds.T * q / k.rows)),
]


@pytest.mark.parametrize("name, answer", NEAR_MISSES)
def test_a_near_miss_is_refused_with_numbers(name, answer):
    outcomes = symbolic.run_symbolic(SYMBOLIC[name], answer)
    wrong = [o for o in outcomes if o.status is Status.WRONG]
    assert wrong and all(o.message or o.detail for o in wrong)
    assert any(character.isdigit() for character in wrong[0].message + wrong[0].detail)


def test_a_product_without_its_transpose_does_not_fit_where_the_sizes_differ():
    outcomes = symbolic.run_symbolic(
        find("attention_dq_dk"), lambda q, k, ds, alpha: (alpha * ds * k, alpha * ds * q)
    )
    assert {o.status for o in outcomes} == {Status.CRASHED, Status.WRONG, Status.PASS}  # square, and 1 × 1


# ---------------------------------------------------------------- the formulas in torch


def gradients(q, k, v, do, alpha):
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    out = torch.softmax(alpha * leaves[0] @ leaves[1].T, dim=-1) @ leaves[2]
    return torch.autograd.grad(out, leaves, grad_outputs=do)


def test_the_formulas_are_autograds_gradients():
    for case in find("attention_backward").cases:
        drawn = convert(backward_inputs(case, case.generator()), torch.float64)
        for got, want in zip(backward(**drawn), gradients(**drawn), strict=True):
            torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-9)


def by_delta_from_o(q, k, v, do, alpha):
    p = torch.softmax(alpha * (q @ k.T), dim=1)
    ds = p * (do @ v.T - (do * (p @ v)).sum(1)[:, None])
    return alpha * (ds @ k), (q.T @ (alpha * ds)).T, p.T @ do


def by_einsum(q, k, v, do, alpha):
    p = torch.softmax(torch.einsum("id,jd->ij", q, k * alpha), dim=1)
    dp = torch.einsum("id,jd->ij", do, v)
    ds = torch.einsum("ij,ij->ij", p, dp - torch.einsum("ij,ij->i", p, dp)[:, None]) * alpha
    return (
        torch.einsum("ij,jd->id", ds, k), torch.einsum("ij,id->jd", ds, q), torch.einsum("ij,id->jd", p, do)
    )  # fmt: skip


def by_jacobian(q, k, v, do, alpha):
    s = alpha * q @ k.T
    p = (s - s.amax(1, keepdim=True)).exp()
    p = p / p.sum(1, keepdim=True)
    ds = torch.stack(
        [(torch.diag(row) - torch.outer(row, row)) @ (v @ g) for row, g in zip(p, do, strict=True)]
    )
    return ds @ (alpha * k), ds.T @ (alpha * q), p.T @ do


def from_lse(q, k, v, do, alpha):
    s = q @ k.T * alpha
    p = torch.exp(s - torch.logsumexp(s, dim=-1, keepdim=True))
    pdp = p * (do @ v.T)
    ds = pdp - p * pdp.sum(-1, keepdim=True)
    return ds @ k * alpha, ds.T @ q * alpha, p.T @ do


@pytest.mark.parametrize("answer", [by_delta_from_o, by_einsum, by_jacobian, from_lse])
def test_a_right_backward_pass_passes_in_any_spelling(answer):
    assert statuses(find("attention_backward"), answer) == {Status.PASS}


def by_grad(*args):
    with torch.enable_grad():
        return gradients(*args)


def by_vjp(q, k, v, do, alpha):
    def attention(q, k, v):
        return torch.softmax(alpha * q @ k.T, dim=-1) @ v

    return torch.autograd.functional.vjp(attention, (q, k, v), do)[1]


def by_vjp_where_nobody_looked(q, k, v, do, alpha):
    return (by_delta_from_o if q.shape == (7, 4) else by_vjp)(q, k, v, do, alpha)


@pytest.mark.parametrize("answer", [by_grad, by_vjp, by_vjp_where_nobody_looked])
def test_autograd_is_told_apart_from_formulas(answer):
    report = flashlearn.check("attention_backward", answer, demo=True)
    assert not report.passed and "autograd computed them" in report.sentence


# ---------------------------------------------------------------- right kernels, spelled otherwise


@triton.jit
def row_by_row_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D, o_b, o_h, o_s, o_d, do_b, do_h, do_s, do_d, BLOCK: tl.constexpr
):
    i, bh = tl.program_id(0), tl.program_id(1)
    d = tl.arange(0, BLOCK)
    o = tl.load(o_ptr + (bh // H) * o_b + (bh % H) * o_h + i * o_s + d * o_d, d < D, 0.0)
    do = tl.load(do_ptr + (bh // H) * do_b + (bh % H) * do_h + i * do_s + d * do_d, d < D, 0.0)
    tl.store(delta_ptr + bh * S + i, tl.sum(o.to(tl.float32) * do.to(tl.float32), 0))


@triton.jit
def in_pieces_kernel(
    o_ptr, do_ptr, delta_ptr, H, S, D, o_b, o_h, o_s, o_d, do_b, do_h, do_s, do_d, BLOCK: tl.constexpr
):
    b, h = tl.program_id(1), tl.program_id(2)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, 16], tl.float32)
    for start in range(0, D, 16):
        d = start + tl.arange(0, 16)
        mask = (i < S)[:, None] & (d < D)[None, :]
        o = tl.load(o_ptr + b * o_b + h * o_h + i[:, None] * o_s + d * o_d, mask, 0.0)
        do = tl.load(do_ptr + b * do_b + h * do_h + i[:, None] * do_s + d * do_d, mask, 0.0)
        acc += o.to(tl.float32) * do
    tl.store(delta_ptr + (b * H + h) * S + i, tl.sum(acc, 1), i < S)


@pytest.mark.parametrize("spelling", ["row by row", "in pieces"])
def test_a_right_delta_kernel_passes_in_any_spelling(spelling):
    def delta(o, do):
        B, H, S, D = o.shape
        out = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
        given = (o, do, out, H, S, D, *o.stride(), *do.stride())
        if spelling == "row by row":
            row_by_row_kernel[(S, B * H)](*given, BLOCK=triton.next_power_of_2(D))
        else:
            in_pieces_kernel[(triton.cdiv(S, 16), B, H)](*given, BLOCK=16)
        return out

    assert statuses(find("delta_preprocess"), delta) == {Status.PASS}


# ---------------------------------------------------------------- the data


@pytest.mark.parametrize(
    "exercise, name",
    [(k, name) for k, e in NUMERIC.items() for name, m in e.explained.mistakes.items() if m.wrong],
)
def test_every_named_mistake_misses_some_case_by_ten_times_what_is_allowed(exercise, name):
    exercise, worst = NUMERIC[exercise], 0.0
    for case in exercise.cases:
        if not case.gpu:
            inputs = exercise.inputs(case, case.generator())
            truth = Truth(exercise, inputs)
            wrong = as_tuple(exercise.explained.mistakes[name].wrong(**convert(inputs, torch.float64)))
            for index, out in enumerate(wrong):
                allowed = max(truth.allowed(index)[0], 1e-9)
                worst = max(worst, largest_error(out.float(), truth.expected[index]) / allowed)
    assert worst > 10


@pytest.mark.parametrize(
    "name", [n for n, m in find("delta_preprocess").explained.mistakes.items() if m.launcher]
)
def test_every_broken_kernel_gets_the_verdict_that_is_declared(name):
    mistake = find("delta_preprocess").explained.mistakes[name]
    assert mistake.status in statuses(find("delta_preprocess"), mistake.launcher)


def test_the_layouts_are_views_with_strides_of_their_own():
    layouts = {c.layout: c for c in find("delta_preprocess").cases if c.layout != "contiguous" and not c.gpu}
    assert set(layouts) == {"[B, S, H, D]", "slice", "D outside", "one number"}
    for layout, case in layouts.items():
        drawn = delta_inputs(case, case.generator())
        assert not drawn[case.data if case.data in drawn else "o"].is_contiguous(), layout
    number = delta_inputs(layouts["one number"], torch.Generator())["do"]
    assert number.untyped_storage().nbytes() >= 4 and number.unique().numel() == 1


def test_the_running_example_is_the_courses_own():
    case = next(c for c in find("attention_backward").cases if c.data == "example")
    drawn = backward_inputs(case, case.generator())
    assert torch.equal(drawn["q"].double(), example.Q) and drawn["alpha"] == example.ALPHA
    assert (drawn["do"] @ drawn["v"].T)[0].tolist() == [1.0, -2.0, 0.0]


# ---------------------------------------------------------------- the kernel


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (2, 3, 33, 24), (1, 2, 64, 128)])
def test_the_kernel_gives_the_mean_of_dp_under_p(shape):
    D = shape[-1]
    generator = torch.Generator().manual_seed(0)
    q, k, v, do = (torch.randn(shape, generator=generator).to(flashlearn.DEVICE) for _ in range(4))
    p = reference.softmax(reference.attention_scores(q, k, 1 / math.sqrt(D)))
    delta = kernels.delta_preprocess(p @ v, do)
    torch.testing.assert_close(delta, (p * (do @ v.mT)).sum(-1), rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------- the pictures

P = torch.softmax(example.ALPHA * example.Q @ example.K.T, dim=-1)


@pytest.mark.parametrize(
    "picture, says",
    [
        (pictures.passes(labelled=True), "dK = α dSᵀ Q"),
        (pictures.passes(), "to be found"),
        (pictures.collected(P.tolist(), example.dO.tolist()), "over the queries i: 1.029"),
        (pictures.two_sums(P[0].tolist(), example.dO[0].tolist(), example.V.tolist()), "all to −0.428"),
        (pictures.blind_bar([0.5, 1, 2], [1e-3, 1e-2, 1], [1e-2, 0.1, 2], 5e-3), "for values in ±0.5."),
    ],
)
def test_each_picture_is_drawn_and_says_what_it_shows(picture, says):
    assert says in picture.description
    assert picture.png().startswith(b"\x89PNG")


# ---------------------------------------------------------------- one walk


def test_a_tile_is_gone_when_the_next_one_comes_and_a_second_walk_is_an_error():
    tiles = one_walk.Tiles(torch.ones(5, 2), torch.ones(5, 3), block=2)
    walk = one_walk.OneWalk(tiles, torch.float64)
    kept = list(walk)
    assert [len(k) for k, _ in kept] == [2, 2, 1] and kept[0][0].dtype == torch.float64
    assert all(t.isnan().all() for pair in kept[:-1] for t in pair) and torch.equal(tiles.k, torch.ones(5, 2))
    with pytest.raises(RuntimeError, match="a second time"):
        list(walk)
