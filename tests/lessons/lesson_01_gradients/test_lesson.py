"""Lesson 01: its references are right, right answers pass in any spelling, wrong ones do not."""

import pytest
import sympy as sp
import torch
import triton
import triton.language as tl

from flashlearn.course.check import check
from flashlearn.exercise import Kind
from flashlearn.judging import symbolic
from flashlearn.judging.cases import run
from flashlearn.judging.references import convert, largest_error
from flashlearn.judging.tolerance import Truth
from flashlearn.kernels.bias_gradient import bias_gradient
from flashlearn.lessons.lesson_01_gradients import pictures, without_autograd
from flashlearn.lessons.lesson_01_gradients.bias_gradient import batch_of_gradients
from flashlearn.lessons.lesson_01_gradients.bias_gradient import bias_gradient as bias_exercise
from flashlearn.lessons.lesson_01_gradients.linear_backward import (
    layer_backward,
    layer_inputs,
    linear_backward,
)
from flashlearn.lessons.lesson_01_gradients.matmul_jacobian import jacobian, matmul_jacobian
from flashlearn.lessons.lesson_01_gradients.matmul_vjp import matmul_vjp, vjp
from flashlearn.lessons.lesson_01_gradients.reduce_and_broadcast_vjp import (
    centred_vjp,
    reduce_and_broadcast_vjp,
)
from flashlearn.lessons.lesson_01_gradients.symbolic_products import symbols
from flashlearn.outcome import Status
from flashlearn.running.values import as_tuple


def statuses(exercise, function):
    """The verdicts of all cases that run on a CPU."""
    symbolically = exercise.kind is Kind.SYMBOLIC
    outcomes = (
        symbolic.run_symbolic(exercise, function) if symbolically else run(exercise, function, compiled=False)
    )
    return {o.status for o in outcomes}


def vec(matrix):
    """A matrix's entries row by row, as a column."""
    return sp.Matrix(list(matrix))


# ---------------------------------------------------------------- the symbolic answers


@pytest.mark.parametrize(("m", "k", "n"), [(2, 3, 4), (1, 2, 2), (3, 1, 2)])
def test_the_references_are_what_sympy_derives_from_the_product(m, k, n):
    X, W, dY = symbols("x", m, k), symbols("w", k, n), symbols("dy", m, n)
    J_X, J_W = vec(X * W).jacobian(list(X)), vec(X * W).jacobian(list(W))
    dX, dW = vjp(X, W, dY)
    assert jacobian(X, W) == J_X
    assert (vec(dX) - J_X.T * vec(dY)).expand() == sp.zeros(m * k, 1)
    assert (vec(dW) - J_W.T * vec(dY)).expand() == sp.zeros(k * n, 1)


@pytest.mark.parametrize(("m", "n"), [(2, 3), (3, 3), (1, 4), (3, 1)])
def test_the_reference_is_what_sympy_derives_from_centring(m, n):
    X, b, dY = symbols("x", m, n), symbols("b", 1, n), symbols("dy", m, n)
    Y = sp.Matrix(m, n, lambda i, j: X[i, j] - sum(X[i, :]) / n + b[j])
    dX, db = centred_vjp(dY)
    assert (vec(dX) - vec(Y).jacobian(list(X)).T * vec(dY)).expand() == sp.zeros(m * n, 1)
    assert (vec(db) - vec(Y).jacobian(list(b)).T * vec(dY)).expand() == sp.zeros(n, 1)


def by_positions(X, W):
    J = sp.zeros(X.rows * W.cols, X.rows * X.cols)
    for i in range(X.rows):
        J[i * W.cols : (i + 1) * W.cols, i * X.cols : (i + 1) * X.cols] = W.T
    return J


def by_differentiating(X, W):
    x = sp.Matrix(X.rows, X.cols, lambda i, j: sp.Dummy())
    return vec(x * W).jacobian(list(x))


JACOBIANS = {
    "kronecker": lambda X, W: sp.kronecker_product(sp.eye(X.rows), W.T),
    "entries": lambda X, W: sp.Matrix(
        X.rows * W.cols,
        X.rows * X.cols,
        lambda r, c: W[c % X.cols, r % W.cols] if r // W.cols == c // X.cols else 0,
    ),
    "slices": by_positions,
    "differentiated": by_differentiating,
    "transposed whole": lambda X, W: sp.diag(*[W for _ in range(X.rows)]).T,
    "list of rows": lambda X, W: by_positions(X, W).tolist(),
    "immutable": lambda X, W: sp.ImmutableMatrix(by_positions(X, W)),
    "symbolic product": lambda X, W: sp.KroneckerProduct(sp.eye(X.rows), W.T).as_explicit(),
}


@pytest.mark.parametrize("answer", JACOBIANS.values(), ids=JACOBIANS)
def test_a_right_jacobian_passes_in_any_spelling(answer):
    assert statuses(matmul_jacobian, answer) == {Status.PASS}


def by_sums(X, W, dY):
    m, k, n = X.rows, X.cols, W.cols
    dX = sp.Matrix(m, k, lambda a, b: sum(dY[a, j] * W[b, j] for j in range(n)))
    dW = sp.Matrix(k, n, lambda a, b: sum(X[i, a] * dY[i, b] for i in range(m)))
    return dX, dW


def by_jacobians(X, W, dY):
    x, w = (sp.Matrix(t.rows, t.cols, lambda i, j: sp.Dummy()) for t in (X, W))
    y, back = vec(x * w), dict(zip([*x, *w], [*X, *W], strict=True))
    grads = [(y.jacobian(list(t)).T * vec(dY)).reshape(t.rows, t.cols).subs(back) for t in (x, w)]
    return tuple(grads)


def by_the_gradient_of_a_sum(X, W, dY):
    x, w = (sp.Matrix(t.rows, t.cols, lambda i, j: sp.Dummy()) for t in (X, W))
    loss = sum((x * w).multiply_elementwise(dY))
    back = dict(zip([*x, *w], [*X, *W], strict=True))
    return tuple(t.applyfunc(lambda entry: sp.diff(loss, entry)).subs(back) for t in (x, w))


VJPS = {
    "transposed whole": lambda X, W, dY: ((W * dY.T).T, (dY.T * X).T),
    "sums": by_sums,
    "Jacobians": by_jacobians,
    "a loss differentiated": by_the_gradient_of_a_sum,
    "by name": lambda X, W, dY: {"dW": X.T * dY, "dX": dY * W.T},
    "lists": lambda X, W, dY: [(dY * W.T).tolist(), (X.T * dY).tolist()],
    "rows added": lambda X, W, dY: (
        dY * W.T,
        sum((X[m, :].T * dY[m, :] for m in range(X.rows)), sp.zeros(W.rows, W.cols)),
    ),
}


@pytest.mark.parametrize("answer", VJPS.values(), ids=VJPS)
def test_a_right_vjp_passes_in_any_spelling(answer):
    assert statuses(matmul_vjp, answer) == {Status.PASS}


def centring(n):
    return sp.eye(n) - sp.ones(n, n) / n


def sums(dY):
    return sp.Matrix(1, dY.cols, [sum(dY[:, j]) for j in range(dY.cols)])


CENTRED = {
    "centring matrix": lambda dY: (dY * centring(dY.cols), sums(dY)),
    "entries": lambda dY: (
        sp.Matrix(dY.rows, dY.cols, lambda i, j: dY[i, j] - sum(dY[i, :]) / dY.cols),
        sums(dY),
    ),
    "common denominator": lambda dY: (
        sp.Matrix(dY.rows, dY.cols, lambda i, j: (dY.cols * dY[i, j] - sum(dY[i, :])) / dY.cols),
        sums(dY),
    ),
    "differences": lambda dY: (
        sp.Matrix(dY.rows, dY.cols, lambda i, j: sum(dY[i, j] - dY[i, c] for c in range(dY.cols)) / dY.cols),
        sums(dY),
    ),
    "a flat list for db": lambda dY: (dY * centring(dY.cols), [sum(dY[:, j]) for j in range(dY.cols)]),
    "a product of ones": lambda dY: (
        dY - dY * sp.ones(dY.cols, dY.cols) / dY.cols,
        (dY.T * sp.ones(dY.rows, 1)).T,
    ),
    "two paths": lambda dY: (dY + dY * (-sp.ones(dY.cols, dY.cols)) * sp.Rational(1, dY.cols), sums(dY)),
}


@pytest.mark.parametrize("answer", CENTRED.values(), ids=CENTRED)
def test_a_right_gradient_of_centring_passes_in_any_spelling(answer):
    assert statuses(reduce_and_broadcast_vjp, answer) == {Status.PASS}


NEAR_MISSES = {
    "one entry of the Jacobian": (
        matmul_jacobian,
        lambda X, W: jacobian(X, W) + sp.Matrix(
            X.rows * W.cols, X.rows * X.cols, lambda r, c: int(r == 0 and c == X.rows * X.cols - 1)
        ),
    ),
    "the last block missing": (
        matmul_jacobian,
        lambda X, W: sp.diag(*[W.T] * (X.rows - 1), sp.zeros(W.cols, X.cols)),
    ),
    "dX without the last output": (
        matmul_vjp,
        lambda X, W, dY: (dY[:, :-1] * W[:, :-1].T, X.T * dY),
    ),
    "dW without the last row": (
        matmul_vjp,
        lambda X, W, dY: (dY * W.T, X[:-1, :].T * dY[:-1, :]),
    ),
    "divided by M": (
        reduce_and_broadcast_vjp,
        lambda dY: (dY - dY * sp.ones(dY.cols, dY.cols) / dY.rows, sums(dY)),
    ),
    "N − 1": (
        reduce_and_broadcast_vjp,
        lambda dY: (dY - dY * sp.ones(dY.cols, dY.cols) / max(dY.cols - 1, 1), sums(dY)),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("exercise", "answer"), NEAR_MISSES.values(), ids=NEAR_MISSES)
def test_a_near_miss_is_refused_with_a_counterexample(exercise, answer):
    outcomes = symbolic.run_symbolic(exercise, answer)
    wrong = [o for o in outcomes if o.status is Status.WRONG]
    assert wrong and any("should be" in o.message for o in wrong)


# ---------------------------------------------------------------- the linear layer


def test_the_reference_agrees_with_autograd_for_every_layout():
    for case in linear_backward.cases:
        inputs = convert(layer_inputs(case, case.generator()), torch.float64)
        x, w = (inputs[name].requires_grad_() for name in ("x", "w"))
        (x @ w).backward(inputs["dy"])
        dx, dw = layer_backward(x.detach(), w.detach(), inputs["dy"])
        torch.testing.assert_close(dx, x.grad)
        torch.testing.assert_close(dw, w.grad)


LAYERS = {
    "einsum": lambda x, w, dy: (
        torch.einsum("...n,kn->...k", dy, w),
        torch.einsum("mk,mn->kn", x.reshape(-1, x.shape[-1]), dy.reshape(-1, dy.shape[-1])),
    ),
    "summed per sequence": lambda x, w, dy: (
        dy @ w.mT,
        (x.mT @ dy).reshape(-1, *w.shape).sum(dim=0),
    ),
    "transposed whole": lambda x, w, dy: (
        (w @ dy.mT).mT,
        (dy.flatten(0, -2).mT @ x.flatten(0, -2)).mT,
    ),
    "tensordot": lambda x, w, dy: (
        torch.tensordot(dy, w, dims=([-1], [1])),
        torch.tensordot(x, dy, dims=(list(range(x.ndim - 1)),) * 2),
    ),
}


@pytest.mark.parametrize("answer", LAYERS.values(), ids=LAYERS)
def test_a_right_layer_passes_in_any_spelling(answer):
    assert statuses(linear_backward, answer) == {Status.PASS}


def by_backward(x, w, dy):
    with torch.enable_grad():
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        return torch.autograd.grad(x @ w, (x, w), dy)


def by_vjp(x, w, dy):
    return torch.func.vjp(torch.matmul, x, w)[1](dy)


@pytest.mark.parametrize("answer", [by_backward, by_vjp])
def test_a_layer_that_switches_autograd_on_again_is_found_out(answer):
    report = check("linear_backward", answer, demo=True)
    assert not report.passed and without_autograd.USED in str(report).replace("\n  ", " ")


def test_plain_autograd_is_told_that_it_is_switched_off():
    def answer(x, w, dy):
        x.requires_grad_()
        (x @ w).backward(dy)
        return x.grad, w

    report = check("linear_backward", answer, demo=True)
    assert report.status is Status.CRASHED
    assert any(without_autograd.OFF in o.message and o.place is not None for o in report.outcomes)


# ---------------------------------------------------------------- column sums


@triton.jit
def other_kernel(
    dy_ptr, db_ptr, M, N, dy_row, dy_col, DESIGN: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    j = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    if DESIGN == "row by row":
        db = tl.zeros([BLOCK_N], tl.float32)
        for i in range(0, M):
            db += tl.load(dy_ptr + i * dy_row + j * dy_col, mask=j < N, other=0.0).to(tl.float32)
        tl.store(db_ptr + j, db, mask=j < N)
    elif DESIGN == "wide accumulator":
        acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for start in range(0, M, BLOCK_M):
            i = start + tl.arange(0, BLOCK_M)
            mask = (i < M)[:, None] & (j < N)[None, :]
            acc += tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=mask, other=0.0)
        tl.store(db_ptr + j, tl.sum(acc, axis=0), mask=j < N)
    else:
        i = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
        mask = (i < M)[:, None] & (j < N)[None, :]
        dy = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=mask, other=0.0)
        partial = tl.sum(dy.to(tl.float32), axis=0)
        if DESIGN == "atomics":
            tl.atomic_add(db_ptr + j, partial, mask=j < N)
        else:
            tl.store(db_ptr + tl.program_id(1) * N + j, partial, mask=j < N)


@pytest.mark.parametrize("design", ["row by row", "wide accumulator", "atomics", "partial sums"])
@pytest.mark.parametrize("block_m", [16, 64])
def test_right_column_sums_pass_in_any_design(design, block_m):
    def column_sums(dy):
        M, N = dy.shape
        tall = triton.cdiv(M, block_m) if design in ("atomics", "partial sums") else 1
        rows = tall if design == "partial sums" else 1
        db = torch.zeros((rows, N), dtype=torch.float32, device=dy.device)
        other_kernel[(triton.cdiv(N, 32), tall)](
            dy, db, M, N, *dy.stride(), DESIGN=design, BLOCK_M=block_m, BLOCK_N=32
        )
        return db.sum(dim=0).to(dy.dtype) if rows > 1 else db[0].to(dy.dtype)

    assert statuses(bias_exercise, column_sums) == {Status.PASS}


def test_sums_that_torch_computed_are_not_the_learner_s():
    assert Status.NOT_YOURS in statuses(bias_exercise, lambda dy: dy.float().sum(dim=0).to(dy.dtype))


@pytest.mark.parametrize("name", [n for n, m in bias_exercise.explained.mistakes.items() if m.wrong])
def test_every_named_formula_misses_some_case_by_ten_times_what_is_allowed(name):
    exercise, worst = bias_exercise, 0.0
    for case in exercise.cases:
        if not case.gpu:
            inputs = exercise.inputs(case, case.generator())
            truth = Truth(exercise, inputs)
            wrong = as_tuple(exercise.explained.mistakes[name].wrong(**convert(inputs, torch.float64)))[0]
            allowed = truth.allowed(0)[0]
            worst = max(worst, largest_error(wrong.to(case.dtype), truth.expected[0]) / max(allowed, 1e-9))
    assert worst > 10


@pytest.mark.parametrize("name", [n for n, m in bias_exercise.explained.mistakes.items() if m.launcher])
def test_every_broken_kernel_gets_the_verdict_that_is_declared(name):
    mistake = bias_exercise.explained.mistakes[name]
    assert mistake.status in statuses(bias_exercise, mistake.launcher)


def test_the_views_have_neighbours_that_would_be_seen():
    views = [(c, batch_of_gradients(c, c.generator())["dy"]) for c in bias_exercise.cases if not c.gpu]
    windows = [dy for c, dy in views if c.layout == "strided"]
    assert len(windows) == 1 and not windows[0].is_contiguous()
    storage = torch.empty(0).set_(windows[0].untyped_storage())
    assert int((storage == 50).sum()) >= 7 * windows[0].shape[0]
    assert any(c.layout == "transposed" and dy.stride(0) == 1 for c, dy in views)


@pytest.mark.parametrize("shape", [(1, 1), (33, 65), (200, 3)])
def test_the_kernel_agrees_with_autograd(shape):
    import flashlearn

    dy = torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(flashlearn.DEVICE)
    b = torch.zeros(shape[1], device=dy.device, requires_grad=True)
    (torch.zeros_like(dy) + b).backward(dy)
    torch.testing.assert_close(bias_gradient(dy), b.grad, rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------- the pictures


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: pictures.product_jacobian(), "8 × 6; 24 of its 48"),
        (lambda: pictures.product_jacobian(by="W"), "8 × 12; 24 of its 96"),
        (lambda: pictures.sizes(4096, 4096, 11008), "∂Y/∂X 1.3 PiB; ∂Y/∂W 3.6 PiB; X 32 MiB; W 86 MiB"),
        (lambda: pictures.five_rules(), "a reduction becomes a broadcast, a broadcast a sum"),
        (lambda: pictures.column_walk(10, 7, 4, 4), "2 programs go down in 3 iterations each; 26 lanes"),
    ],
)
def test_each_picture_is_drawn_and_says_what_it_shows(draw, says):
    picture = draw()
    assert says in picture.description
    assert picture.png().startswith(b"\x89PNG")
    assert any(axes.get_xlabel() for axes in picture.figure.axes)


def test_the_pictured_jacobians_have_the_entries_that_sympy_finds():
    X, W = symbols("x", 2, 3), symbols("w", 3, 4)
    for by, matrix, name in (("X", X, "W"), ("W", W, "X")):
        J = vec(X * W).jacobian(list(matrix))
        for r in range(8):
            for c in range(len(matrix)):
                a, b = divmod(c, matrix.cols)
                drawn = pictures._product_entry(*divmod(r, 4), a, b, by)
                assert str(J[r, c]) == (drawn.replace(name, name.lower() + "_") or "0")
