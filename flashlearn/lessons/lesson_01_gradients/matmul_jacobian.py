"""`matmul_jacobian`: the matrix of a matrix product's derivatives."""

from __future__ import annotations

import itertools

import sympy as sp

from flashlearn.exercise import Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.lessons.lesson_01_gradients.symbolic_products import PRODUCTS, factors


def jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    """∂ vec(X W) / ∂ vec(X) with vec row by row: M copies of Wᵀ on the diagonal, I ⊗ Wᵀ."""
    return sp.diag(*[W.T] * X.rows)


def _numbered(outputs_by_column: bool, inputs_by_column: bool):
    """The right entries in places that number the outputs, or the inputs, column by column."""

    def answer(X, W):
        (M, K), N = X.shape, W.cols
        J = sp.zeros(M * N, M * K)
        for i, j, l in itertools.product(range(M), range(N), range(K)):  # noqa: E741
            row = j * M + i if outputs_by_column else i * N + j
            J[row, l * M + i if inputs_by_column else i * K + l] = W[l, j]
        return J

    return answer


MISTAKES = {
    "one block instead of M": Mistake(
        "You returned Wᵀ alone. That is the block of one row of Y by one row of X: right for a single row, "
        "and here there are M of each.",
        "J has a row for each of the M·N outputs and a column for each of the M·K inputs. Where do the M "
        "copies of Wᵀ go?",
        wrong=lambda X, W: W.T,
    ),
    "W where Wᵀ belongs": Mistake(
        "Your blocks are W. Your matrix is the transpose of the Jacobian: its rows belong to inputs and its "
        "columns to outputs.",
        "Row k holds the derivatives of output k. One row of Y has N outputs: how many rows does a block "
        "have?",
        wrong=lambda X, W: sp.kronecker_product(sp.eye(X.rows), W),
    ),
    "columns stacked instead of rows": Mistake(
        "You have the right entries in another order: that of Wᵀ ⊗ I, for matrices read column by column.",
        "Row-major: Y_00, Y_01, … first, then the next row. Which inputs does the first row of Y read?",
        wrong=lambda X, W: sp.kronecker_product(W.T, sp.eye(X.rows)),
    ),
    "outputs numbered column by column": Mistake(
        "Your rows number the outputs column by column, Y_00, Y_10, …: the entries are right, but in other "
        "rows.",
        "Row-major: which number does Y_ij get if each row of Y comes before the next?",
        wrong=_numbered(outputs_by_column=True, inputs_by_column=False),
    ),
    "inputs numbered column by column": Mistake(
        "Your columns number the inputs column by column, X_00, X_10, …: the entries are right, but in other "
        "columns.",
        "Row-major: which number does X_il get if each row of X comes before the next?",
        wrong=_numbered(outputs_by_column=False, inputs_by_column=True),
    ),
    "the derivative by W": Mistake(
        "You returned dY/dW, which is X ⊗ I: the derivatives by the other factor.",
        "Hold W fixed and let X move: ∂Y_ij/∂X_il is an entry of W.",
        wrong=lambda X, W: sp.kronecker_product(X, sp.eye(W.cols)),
    ),
    "a block in every place": Mistake(
        "You put Wᵀ in every place. Off the diagonal that says that row i of Y depends on another row of X.",
        "Y_ij = Σ_l X_il W_lj reads row i of X and no other: those blocks are zero.",
        wrong=lambda X, W: sp.kronecker_product(sp.ones(X.rows, X.rows), W.T),
    ),
}

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
        mistakes=MISTAKES,
    ),
)
