"""`reduce_and_broadcast_vjp`: the gradients of a centred row and of its bias."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.lesson_01_gradients.symbolic_products import symbols
from flashlearn.lessons.shared import example
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula


def centred_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """The gradients through Y_ij = X_ij − (1/N) Σ_l X_il + b_j: dY minus its row means, and column sums."""
    row_means = dY * sp.ones(dY.cols, 1) / dY.cols
    return dY - row_means * sp.ones(1, dY.cols), sp.ones(1, dY.rows) * dY


def faulty_vjp(dY: sp.Matrix, faults: Faults = NONE) -> tuple[sp.Matrix, sp.Matrix]:
    """(dX, db), with faults by name."""
    M, N = dY.rows, dY.cols
    row_sums, column_sums = dY * sp.ones(N, 1) * sp.ones(1, N), sp.ones(M, 1) * sp.ones(1, M) * dY
    corrections = {
        "no mean": sp.zeros(M, N),
        "mean of the column": -column_sums / M,
        "sum of the row": -row_sums,
        "divided by M": -row_sums / M,
        "sum of the column": -column_sums,
        "column by N": -column_sums / N,
        "added": row_sums / N,
        "own entry": -dY / N,
    }
    dX = dY + next((c for name, c in corrections.items() if name in faults), -row_sums / N)
    db = sp.ones(1, M) * (dX if "db from dX" in faults else dY)
    if "db averaged" in faults:
        db = db / M
    return dX, dY if "db not summed" in faults else db


formula = faulty_formula(faulty_vjp)

MISTAKES = {
    "the path through the mean forgotten": Mistake(
        "Your dX is dY itself: X reaches Y directly. It is used a second time, inside the mean, and that "
        "path carries a gradient too.",
        "Used twice, gradients add: what comes back through −s_i/N?",
        **formula("no mean"),
    ),
    "mean over the wrong axis": Mistake(
        "You subtracted the mean of dY's columns. The mean was taken along a row, so its gradient comes from "
        "that row.",
        "s_i goes to every Y_ij of row i: it is broadcast along j, so the gradient sums over j.",
        **formula("mean of the column"),
    ),
    "1/N forgotten": Mistake(
        "You subtracted the sum of the row of dY: the factor 1/N is missing.",
        "Scaling: what is multiplied by 1/N in the forward pass is multiplied by 1/N in the backward pass.",
        **formula("sum of the row"),
    ),
    "row sum divided by M": Mistake(
        "You divided the sum of a row of dY by M, the number of rows. The mean was taken over the N entries "
        "of a row.",
        "dY.rows or dY.cols: which of the two is the number of entries in a row?",
        **formula("divided by M"),
    ),
    "sum down the column": Mistake(
        "You subtracted the sum of a column of dY, divided by N or not. The mean was taken along a row, so "
        "what comes back is the sum along that row, divided by N.",
        "Which index does the mean of X sum over? In dX_ij the correction sums dY over the same one.",
        **formula("column by N", also=("sum of the column",)),
    ),
    "the mean is added": Mistake(
        "You added the row mean of dY. In the forward pass the row mean of X is subtracted, and the factor "
        "−1 stays in the gradient.",
        "Scaling by −1/N scales the gradient by −1/N as well.",
        **formula("added"),
    ),
    "the row's own entry only": Mistake(
        "You returned dY (1 − 1/N): as if each entry of Y depended on one entry of X alone.",
        "X_ij reaches every Y_il of its row through the mean: sum over l.",
        **formula("own entry"),
    ),
    "db averaged": Mistake(
        "Your db has the means of dY's columns. The bias is used once in each row: gradients add.",
        "Broadcast forward, sum backward: nothing is divided.",
        **formula("db averaged"),
    ),
    "db from dX": Mistake(
        "Your db sums the columns of dX, which includes the path through the mean. The bias is added "
        "after X was centred: b_j reaches Y_ij alone, with a factor of 1.",
        "Through which matrix does b reach the loss, X or Y? Sum the columns of that one's gradient.",
        **formula("db from dX"),
    ),
    "db not summed": Mistake(
        "Your db is all of dY. b has N entries, and so has its gradient.",
        "b_j was added to every row of column j: its gradient is the sum of that column.",
        **formula("db not summed"),
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
