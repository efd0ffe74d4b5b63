"""The named mistakes of lesson 01: what people get wrong about gradients of matrix expressions.

In sympy for the three symbolic answers, in torch for `linear_backward` and the column sums; where torch
cannot say it, the mistake is one of faulty_kernels.
"""

from __future__ import annotations

import itertools

import sympy as sp
import torch
from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_01_gradients import faulty_kernels as broken
from flashlearn.lessons.shared.faulty_formulas.faults import with_faults
from flashlearn.lessons.shared.faulty_formulas.sums import column_sums
from flashlearn.outcome import Status


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


JACOBIAN = {
    "one block instead of M": Mistake(
        "You returned Wᵀ alone. That is the block of one row of Y by one row of X: right for a single row, "
        "and here there are M of each.",
        "J has a row for each of the M·N outputs and a column for each of the M·K inputs. Where do the M "
        "copies of Wᵀ go?",
        wrong=lambda X, W: W.T,
    ),
    "W where Wᵀ belongs": Mistake(
        "Your blocks are W. The matrix is the transpose of the Jacobian: its rows belong to inputs and its "
        "columns to outputs.",
        "Row k holds the derivatives of output k. One row of Y has N outputs: how many rows has a block?",
        wrong=lambda X, W: sp.kronecker_product(sp.eye(X.rows), W),
    ),
    "columns stacked instead of rows": Mistake(
        "You have the right entries in another order: that of vec taken column by column, Wᵀ ⊗ I.",
        "Row-major: Y_00, Y_01, … first, then the next row. Which inputs does the first row of Y read?",
        wrong=lambda X, W: sp.kronecker_product(W.T, sp.eye(X.rows)),
    ),
    "outputs numbered column by column": Mistake(
        "Your rows number the outputs column by column, Y_00, Y_10, …: the entries are right, and stand in "
        "other rows.",
        "Row-major: which number has Y_ij, when a whole row of Y comes before the next?",
        wrong=_numbered(outputs_by_column=True, inputs_by_column=False),
    ),
    "inputs numbered column by column": Mistake(
        "Your columns number the inputs column by column, X_00, X_10, …: the entries are right, and stand in "
        "other columns.",
        "Row-major: which number has X_il, when a whole row of X comes before the next?",
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


def _ones(dY: sp.Matrix) -> sp.Matrix:
    return sp.ones(dY.rows, dY.cols)


VJP = {
    "dW transposed": Mistake(
        "Your dW is dYᵀ X: right numbers, lying on their side. dW must have the shape of W.",
        "W is K × N. Which of Xᵀ dY and dYᵀ X is K × N?",
        wrong=lambda X, W, dY: (dY * W.T, dY.T * X),
    ),
    "both transposed": Mistake(
        "Both results are transposed. A gradient has the shape of what it is the gradient of, entry under "
        "entry.",
        "Transposing a product reverses it: (W dYᵀ)ᵀ = dY Wᵀ.",
        wrong=lambda X, W, dY: (W * dY.T, dY.T * X),
    ),
    "dY left out": Mistake(
        "Your answer does not contain dY: it is the gradient of the plain sum of Y, whose dY is all ones.",
        "Every output carries its own weight: ∂L/∂X_kl = Σ_ij dY_ij ∂Y_ij/∂X_kl.",
        wrong=lambda X, W, dY: (_ones(dY) * W.T, X.T * _ones(dY)),
    ),
    "the other factor alone": Mistake(
        "You returned Wᵀ and Xᵀ: the derivative of a product of numbers, without the gradient that comes in "
        "from above.",
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


CENTRE = {
    "the path through the mean forgotten": Mistake(
        "Your dX is dY itself: X reaches Y directly. It is used a second time, inside the mean, and that "
        "path carries a gradient too.",
        "Used twice, gradients add: what comes back through −s_i/N?",
        wrong=_by_mean(lambda dY, i, j: 0),
    ),
    "mean over the wrong axis": Mistake(
        "You subtracted the mean of dY's columns. The mean was taken along a row, so its gradient comes from "
        "that row.",
        "s_i was handed to every Y_ij of row i: broadcast along j, so the gradient sums over j.",
        wrong=_by_mean(lambda dY, i, j: -sum(dY[:, j]) / dY.rows),
    ),
    "1/N forgotten": Mistake(
        "You subtracted the sum of the row of dY: the factor 1/N is missing.",
        "Scaling: what is multiplied by 1/N on the way there is multiplied by 1/N on the way back.",
        wrong=_by_mean(lambda dY, i, j: -sum(dY[i, :])),
    ),
    "row sum divided by M": Mistake(
        "You divided the sum of a row of dY by M, the number of rows. The mean was taken over the N entries "
        "of a row.",
        "dY.rows or dY.cols: which of the two is the number of entries in a row?",
        wrong=_by_mean(lambda dY, i, j: -sum(dY[i, :]) / dY.rows),
    ),
    "the mean is added": Mistake(
        "You added the row's mean of dY. It was subtracted on the way there, and a factor −1 is a factor "
        "like any other.",
        "Scaling by −1/N: the gradient is scaled by −1/N.",
        wrong=_by_mean(lambda dY, i, j: _row_mean(dY, i)),
    ),
    "the row's own entry only": Mistake(
        "You returned dY (1 − 1/N): as if the mean of a row depended on one entry of X at a time.",
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


def _rows(t: Tensor) -> Tensor:
    """[..., n] as [rows, n]."""
    return t.flatten(0, -2)


def _untransposed(x: Tensor, w: Tensor, dy: Tensor) -> tuple[Tensor, Tensor]:
    """Refused by torch unless K = N, and M = K for dW."""
    return dy @ w, _rows(x) @ _rows(dy)


LINEAR = {
    "an operand is not transposed": Mistake(
        "The shapes of your operands do not fit. Where all sizes are equal the product goes through, and "
        "the numbers are wrong.",
        "Write the shapes under the factors: dx [M, K] from dy [M, N] and w [K, N]; dw [K, N] from x [M, K] "
        "and dy. One of the two is transposed in each product.",
        launcher=_untransposed,
        status=Status.CRASHED,
    ),
    "dw transposed": Mistake(
        "Your dw is dyᵀ x, [N, K]: the layout of torch.nn.Linear's weight. Here w is [K, N], and dw has the "
        "shape of w.",
        "xᵀ dy is [K, N].",
        wrong=lambda x, w, dy: (dy @ w.mT, _rows(dy).mT @ _rows(x)),
    ),
    "dw for each batch element": Mistake(
        "Your dw has a batch dimension. The same w served every sequence of the batch: its gradients add, "
        "over the batch as over the rows.",
        "Flatten the leading dimensions into rows first, or sum over them afterwards.",
        wrong=lambda x, w, dy: (dy @ w.mT, x.mT @ dy),
    ),
    "dw averaged over the rows": Mistake(
        "You divided dw by the number of rows. What is used k times gets the sum of k gradients.",
        "If the loss is a mean, its 1/M is in dy already.",
        wrong=lambda x, w, dy: (dy @ w.mT, _rows(x).mT @ _rows(dy) / _rows(dy).shape[0]),
    ),
    "dw from the first batch element": Mistake(
        "Your dw comes from the first sequence of the batch alone.",
        "All leading dimensions are rows: flatten(0, -2) makes [B, S, K] into [B·S, K].",
        wrong=lambda x, w, dy: (
            dy @ w.mT,
            x.reshape(-1, *x.shape[-2:])[0].mT @ dy.reshape(-1, *dy.shape[-2:])[0],
        ),
    ),
    "dy left out": Mistake(
        "Your answer does not depend on dy: it is the gradient of the plain sum of y.",
        "dy is the loss's gradient by y; dx = dy wᵀ and dw = xᵀ dy.",
        wrong=lambda x, w, dy: (torch.ones_like(dy) @ w.mT, _rows(x).mT @ torch.ones_like(_rows(dy))),
    ),
}


COLUMN_SUMS = {
    "rows below the matrix": Mistake(
        "The load masks the columns and not the rows: the last tile reaches below the last row.",
        "The mask of a tile has two factors: (i < M)[:, None] & (j < N)[None, :].",
        launcher=broken.rows_without_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides swapped": Mistake(
        "The strides have changed places: the program walks along rows where it should walk down columns.",
        "dy[i, j] lies at dy_ptr + i * dy_row + j * dy_col, whatever the view.",
        launcher=broken.strides_swapped,
        status=Status.OUT_OF_BOUNDS,
    ),
    "the first tile only": Mistake(
        "Only the first BLOCK_M rows are added up. A batch has more rows than a tile.",
        "Loop over the rows, start = 0, BLOCK_M, 2 · BLOCK_M, … below M, and add each tile's sums.",
        **with_faults(column_sums, "first tile only"),
    ),
    "the last, short tile left out": Mistake(
        "The rows of the last tile are missing from the sum: the loop ends too early.",
        "range(0, M, BLOCK_M) includes the last tile, short or full.",
        **with_faults(column_sums, "ragged tile left out", also=("last tile left out",)),
    ),
    "the first tile left out": Mistake(
        "The rows of the first tile are missing from the sum: the loop starts one tile late.",
        "range(0, M, BLOCK_M) starts with the first row.",
        **with_faults(column_sums, "first tile left out"),
    ),
    "tiles that overlap": Mistake(
        "Rows are counted more than once: a tile has more rows than the loop moves on by.",
        "Two numbers have to agree, the step of range and the number of rows in i. Both are BLOCK_M.",
        **with_faults(column_sums, "tiles twice as high", also=("steps of one row",)),
    ),
    "mean instead of sum": Mistake(
        "You divided by the number of rows. The bias is added once in each row, so its gradients add up.",
        "If the loss is a mean, its 1/M is in dy already.",
        **with_faults(column_sums, "mean"),
    ),
    "summed along the wrong axis": Mistake(
        "Each tile is summed along its rows. The tile is square, so the shapes fit, and the sums of rows "
        "land where the sums of columns belong.",
        "db[j] adds up over i: which axis of the tile is i, and which one has to go?",
        **with_faults(column_sums, "rows of the tile summed"),
    ),
    "the last tile overwrites": Mistake(
        "db holds the sums of the last tile alone: each tile's sums replace those before.",
        "Add to the accumulator, db += tl.sum(…), and store once, after the loop.",
        **with_faults(column_sums, "last tile only"),
    ),
    "load, add, store": Mistake(
        "Several programs add to the same columns of db, each with a load and a store of its own. What one "
        "adds between the other's load and store is lost.",
        "tl.atomic_add does the three in one step; or let one program own a column from top to bottom.",
        launcher=broken.load_then_store,
        status=Status.RACE,
    ),
    "uninitialised memory": Mistake(
        "The programs add onto memory that nobody set to zero: db starts with whatever was there.",
        "Atomic additions need torch.zeros (and fp32, as half precision would round every one of them).",
        launcher=broken.atomics_onto_empty,
    ),
    "tiles summed in half precision": Mistake(
        "The tiles are summed in half precision: tl.sum of fp16 numbers is an fp16 sum.",
        "Convert before you add: tl.sum(dy.to(tl.float32), axis=0).",
        launcher=broken.in_half_precision,
    ),
}
