"""`matmul_vjp`: the gradients of a matrix product."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.lessons.lesson_01_gradients.symbolic_products import PRODUCTS, factors_and_gradient


def vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX = dY Wᵀ and dW = Xᵀ dY."""
    return dY * W.T, X.T * dY


def _ones(dY: sp.Matrix) -> sp.Matrix:
    return sp.ones(dY.rows, dY.cols)


MISTAKES = {
    "dW transposed": Mistake(
        "Your dW is dYᵀ X: the right numbers, transposed. dW must have the shape of W.",
        "W is K × N. Which of Xᵀ dY and dYᵀ X is K × N?",
        wrong=lambda X, W, dY: (dY * W.T, dY.T * X),
    ),
    "both transposed": Mistake(
        "Both results are transposed. A gradient has the shape "
        "of the matrix that it belongs to, entry by entry.",
        "Transposing a product reverses it: (W dYᵀ)ᵀ = dY Wᵀ.",
        wrong=lambda X, W, dY: (W * dY.T, dY.T * X),
    ),
    "dY left out": Mistake(
        "Your answer does not contain dY: it is the gradient of the plain sum of Y, whose dY is all ones.",
        "Every output carries its own weight: ∂L/∂X_kl = Σ_ij dY_ij ∂Y_ij/∂X_kl.",
        wrong=lambda X, W, dY: (_ones(dY) * W.T, X.T * _ones(dY)),
    ),
    "the other factor alone": Mistake(
        "You returned Wᵀ and Xᵀ: the derivative of a product of numbers, without the incoming gradient.",
        "They are the halves of the answer. Multiply each with dY, on the side where the shapes fit.",
        wrong=lambda X, W, dY: (W.T, X.T),
    ),
    "dW averaged over the rows": Mistake(
        "You divided dW by the number of rows. W is used by every row, and what is used k times gets the "
        "sum of k gradients, not their mean.",
        "If the loss is a mean, its 1/M is in dY already.",
        wrong=lambda X, W, dY: (dY * W.T, X.T * dY / dY.rows),
    ),
}

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
        mistakes=MISTAKES,
    ),
)
