"""`reduce_and_broadcast_vjp`: the gradients of a centred row and of its bias."""

from __future__ import annotations

import sympy as sp
import torch

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_01_gradients.symbolic_products import symbols
from flashlearn.lessons.shared import example
from flashlearn.lessons.shared.cases import build_case


def centred_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """The gradients through Y_ij = X_ij − (1/N) Σ_l X_il + b_j: dY minus its row means, and column sums."""
    row_means = dY * sp.ones(dY.cols, 1) / dY.cols
    return dY - row_means * sp.ones(1, dY.cols), sp.ones(1, dY.rows) * dY


def _column_sums(dY: sp.Matrix) -> sp.Matrix:
    return sp.ones(1, dY.rows) * dY


def _by_mean(correction, columns=_column_sums):
    """A wrong (dX, db): dX_ij = dY_ij + correction(dY, i, j), and db from columns(dY)."""
    return lambda dY: (
        sp.Matrix(dY.rows, dY.cols, lambda i, j: dY[i, j] + correction(dY, i, j)),
        columns(dY),
    )


def _row_mean(dY: sp.Matrix, i: int) -> sp.Expr:
    return sum(dY[i, :]) / dY.cols


MISTAKES = {
    "the path through the mean forgotten": Mistake(
        "Your dX is dY itself: X reaches Y directly. It is used a second time, inside the mean, and that "
        "path carries a gradient too.",
        "Used twice, gradients add: what comes back through −s_i/N?",
        wrong=_by_mean(lambda dY, i, j: 0),
    ),
    "mean over the wrong axis": Mistake(
        "You subtracted the mean of dY's columns. The mean was taken along a row, so its gradient comes from "
        "that row.",
        "s_i goes to every Y_ij of row i: it is broadcast along j, so the gradient sums over j.",
        wrong=_by_mean(lambda dY, i, j: -sum(dY[:, j]) / dY.rows),
    ),
    "1/N forgotten": Mistake(
        "You subtracted the sum of the row of dY: the factor 1/N is missing.",
        "Scaling: what is multiplied by 1/N in the forward pass is multiplied by 1/N in the backward pass.",
        wrong=_by_mean(lambda dY, i, j: -sum(dY[i, :])),
    ),
    "row sum divided by M": Mistake(
        "You divided the sum of a row of dY by M, the number of rows. The mean was taken over the N entries "
        "of a row.",
        "dY.rows or dY.cols: which of the two is the number of entries in a row?",
        wrong=_by_mean(lambda dY, i, j: -sum(dY[i, :]) / dY.rows),
    ),
    "the mean is added": Mistake(
        "You added the row's mean of dY. It was subtracted in the forward pass, "
        "and −1 is a factor like any other.",
        "Scaling by −1/N: the gradient is scaled by −1/N.",
        wrong=_by_mean(lambda dY, i, j: _row_mean(dY, i)),
    ),
    "the row's own entry only": Mistake(
        "You returned dY (1 − 1/N): as if each entry of Y depended on one entry of X alone.",
        "X_ij reaches every Y_il of its row through the mean: sum over l.",
        wrong=_by_mean(lambda dY, i, j: -dY[i, j] / dY.cols),
    ),
    "db averaged": Mistake(
        "Your db is the mean of dY's columns. The bias is used once in each row: gradients add.",
        "Broadcast forward, sum backward, with nothing to divide by.",
        wrong=_by_mean(lambda dY, i, j: -_row_mean(dY, i), lambda dY: _column_sums(dY) / dY.rows),
    ),
    "db not summed": Mistake(
        "Your db is all of dY. b has N entries, and so has its gradient.",
        "b_j was added to every row of column j: its gradient is the sum of that column.",
        wrong=_by_mean(lambda dY, i, j: -_row_mean(dY, i), lambda dY: dY),
    ),
}


def upstream(M: int, N: int, what: str = "any dY", **more: object) -> Case:
    """dY [M, N], the gradient that comes from above."""
    return build_case(what, {"M": M, "N": N}, note=f"{M}×{N}", **more)


def upstream_gradient(case: Case, generator: torch.Generator) -> Inputs:
    """dY [M, N]: dO Vᵀ of the running example, whose first row is (1, −2, 0), symbols otherwise."""
    if case.data == "example":
        numbers = example.symbolic()
        return {"dY": numbers.dO * numbers.V.T}
    return {"dY": symbols("dy", case.sizes["M"], case.sizes["N"])}


reduce_and_broadcast_vjp = Exercise(
    name="reduce_and_broadcast_vjp",
    lesson="01",
    kind=Kind.SYMBOLIC,
    title="The gradients of a centred row and of its bias",
    signature="(dY) -> (dX, db)",
    outputs=("dX", "db"),
    inputs=upstream_gradient,
    cases=(
        upstream(4, 3, "dO Vᵀ of the example", data="example"),
        upstream(2, 3),
        upstream(3, 2),
        upstream(3, 3),
        upstream(1, 4, "one row"),
        upstream(3, 1, "one column"),
    ),
    judged=HowJudged(
        reference=centred_vjp,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
