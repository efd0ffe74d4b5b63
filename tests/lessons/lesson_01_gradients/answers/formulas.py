"""Lesson 01: answers to `matmul_jacobian`, `matmul_vjp`, `linear_backward` and `reduce_and_broadcast_vjp`."""

from __future__ import annotations

import sympy as sp
import torch

from tests.corpus import right, wrong

# matmul_jacobian -----------------------------------------------------------------------------------


@right("matmul_jacobian", "differentiates a product of fresh symbols")
def by_differentiating(X, W):
    mine = sp.Matrix(X.rows, X.cols, sp.symbols(f"t0:{X.rows * X.cols}"))
    y = (mine * W).reshape(X.rows * W.cols, 1)
    return y.jacobian(mine.reshape(1, len(mine)))


@right("matmul_jacobian", "a Kronecker product, given as a list of rows")
def kronecker_as_rows(X, W):
    return sp.kronecker_product(sp.eye(X.rows), W.T).tolist()


@right("matmul_jacobian", "four loops over a matrix of zeros")
def four_loops(X, W):
    M, K, N = X.rows, X.cols, W.cols
    J = sp.zeros(M * N, M * K)
    for i in range(M):
        for j in range(N):
            for b in range(K):
                J[i * N + j, i * K + b] = W[b, j]
    return J


@wrong(
    "matmul_jacobian", "The rows belong to inputs: this is the transpose.", "W where Wᵀ belongs", "transposed"
)
def gradients_as_columns(X, W):
    M, K, N = X.rows, X.cols, W.cols
    J = sp.zeros(M * K, M * N)
    for i in range(M):
        J[i * K : (i + 1) * K, i * N : (i + 1) * N] = W
    return J


@wrong("matmul_jacobian", "You differentiated by W.", "the derivative by W")
def differentiated_by_the_wrong_factor(X, W):
    mine = sp.Matrix(W.rows, W.cols, sp.symbols(f"u0:{len(W)}"))
    y = sp.Matrix(list(X * mine))
    return y.jacobian(list(mine))


@wrong(
    "matmul_jacobian",
    "vec goes column by column here; row by row was asked for.",
    "columns stacked instead of rows",
)
def column_major_indices(X, W):
    M, K, N = X.rows, X.cols, W.cols
    J = sp.zeros(M * N, M * K)
    for i in range(M):
        for j in range(N):
            for b in range(K):
                J[j * M + i, b * M + i] = W[b, j]
    return J


@wrong("matmul_jacobian", "Two blocks are written out; there are M of them.", "wrong shape")
def two_blocks_written_out(X, W):
    return sp.diag(W.T, W.T)


@wrong(
    "matmul_jacobian",
    "Row i of Y reads row i of X alone: the blocks off the diagonal are zero.",
    "a block in every place",
)
def blocks_everywhere(X, W):
    M = X.rows
    return sp.Matrix(sp.BlockMatrix([[W.T] * M for _ in range(M)]).as_explicit())


@wrong("matmul_jacobian", "Every entry has the wrong sign.", "sign")
def with_a_minus(X, W):
    return -sp.kronecker_product(sp.eye(X.rows), W.T)


# matmul_vjp ----------------------------------------------------------------------------------------


@right("matmul_vjp", "entry by entry, from the sums")
def vjp_from_the_sums(X, W, dY):
    dX = sp.Matrix(X.rows, X.cols, lambda a, b: sum(dY[a, j] * W[b, j] for j in range(W.cols)))
    dW = sp.Matrix(W.rows, W.cols, lambda a, b: sum(X[i, a] * dY[i, b] for i in range(X.rows)))
    return dX, dW


@right("matmul_vjp", "transposes of products, in a list")
def vjp_transposed_twice(X, W, dY):
    return [(W * dY.T).T, (dY.T * X).T]


@wrong("matmul_vjp", "dX and dW are in each other's place.", "swapped", "outputs exchanged", "wrong shape")
def vjp_in_the_other_order(X, W, dY):
    return X.T * dY, dY * W.T


@wrong("matmul_vjp", "dW lies on its side: dW has W's shape.", "dW transposed", "wrong shape")
def vjp_with_dw_like_linear(X, W, dY):
    dX = dY * W.transpose()
    dW = dY.transpose() * X
    return dX, dW


@wrong("matmul_vjp", "W is used by every row: sum, not mean.", "dW averaged over the rows")
def vjp_with_a_mean(X, W, dY):
    dW = sp.zeros(W.rows, W.cols)
    for i in range(X.rows):
        dW += X[i, :].T * dY[i, :]
    return dY * W.T, dW / X.rows


@wrong("matmul_vjp", "dY does not occur: this is the gradient of Y's plain sum.", "dY left out")
def vjp_of_the_sum(X, W, dY):
    dX = sp.Matrix(X.rows, X.cols, lambda i, b: sum(W[b, :]))
    dW = sp.Matrix(W.rows, W.cols, lambda b, j: sum(X[:, b]))
    return dX, dW


@wrong(
    "matmul_vjp",
    "The shapes do not fit: W has to be transposed.",
    "crashed",
    "wrong shape",
)
def vjp_without_any_transpose(X, W, dY):
    return dY * W, X * dY


# linear_backward -----------------------------------------------------------------------------------


@right("linear_backward", "einsum with an ellipsis")
def layer_by_einsum(x, w, dy):
    return torch.einsum("...mn,kn->...mk", dy, w), torch.einsum("...mk,...mn->kn", x, dy)


@right("linear_backward", "matrices of rows, reshaped back")
def layer_by_reshaping(x, w, dy):
    rows, grads = x.reshape(-1, x.size(-1)), dy.reshape(-1, dy.size(-1))
    return torch.mm(grads, w.t()).reshape(x.shape), torch.mm(rows.t(), grads)


@right("linear_backward", "a loop over the batch that adds in fp32")
def layer_by_looping(x, w, dy):
    dw = torch.zeros(w.shape)
    for xb, db in zip(x.reshape(-1, *x.shape[-2:]), dy.reshape(-1, *dy.shape[-2:]), strict=True):
        dw.addmm_(xb.float().T, db.float())
    return torch.matmul(dy, w.transpose(0, 1)), dw.to(w.dtype)


@wrong("linear_backward", "view refuses a tensor that is transposed in memory.", "crashed")
def layer_with_view(x, w, dy):
    dw = x.view(-1, x.shape[-1]).T @ dy.view(-1, dy.shape[-1])
    return dy @ w.T, dw


@wrong("linear_backward", "Your dw is averaged over the batch: gradients add.", "constant factor")
def layer_with_the_batch_s_mean(x, w, dy):
    dw = x.transpose(-1, -2) @ dy
    if dw.dim() == 3:
        dw = dw.mean(0)
    return dy @ w.T, dw


@wrong(
    "linear_backward", "w served the whole batch: add its gradients.", "dw for each batch element", "shape"
)
def layer_with_a_dw_per_sequence(x, w, dy):
    return dy @ w.T, torch.matmul(x.transpose(-2, -1), dy)


@wrong("linear_backward", "dw has the layout of nn.Linear's weight, [N, K].", "dw transposed", "shape")
def layer_as_in_nn_linear(x, w, dy):
    dw = torch.einsum("...n,...k->nk", dy, x)
    return torch.einsum("...n,kn->...k", dy, w), dw


@wrong(
    "linear_backward", "Each row's share of dw is rounded to half precision when it is added.", "precision"
)
def layer_adding_rows_in_half(x, w, dy):
    dw = torch.zeros_like(w)
    for row, grad in zip(x.reshape(-1, x.shape[-1]), dy.reshape(-1, dy.shape[-1]), strict=True):
        dw = dw + torch.outer(row, grad)
    return dy @ w.T, dw


@wrong("linear_backward", "autograd computed them.", "review", "crashed", "not_yours")
def layer_by_autograd(x, w, dy):
    with torch.enable_grad():
        x, w = x.detach().requires_grad_(), w.detach().requires_grad_()
        return torch.autograd.grad(x @ w, (x, w), dy)


@wrong(
    "linear_backward", "dx and dw are returned in the other order.", "outputs exchanged", "shape", "swapped"
)
def layer_in_the_other_order(x, w, dy):
    dx = dy @ w.T
    dw = x.flatten(0, -2).T @ dy.flatten(0, -2)
    return dw, dx


# reduce_and_broadcast_vjp --------------------------------------------------------------------------


@right("reduce_and_broadcast_vjp", "the centring matrix I − J/N, and db as a list")
def centred_by_a_matrix(dY):
    N = dY.cols
    return dY * (sp.eye(N) - sp.ones(N, N) / N), [sum(dY[:, j]) for j in range(N)]


@right("reduce_and_broadcast_vjp", "entry by entry, with exact fractions")
def centred_by_entries(dY):
    M, N = dY.shape
    dX = sp.zeros(M, N)
    for i in range(M):
        for j in range(N):
            dX[i, j] = dY[i, j] - sp.Rational(1, N) * sum(dY[i, l] for l in range(N))  # noqa: E741
    return dX, sp.Matrix([[sum(dY[i, j] for i in range(M)) for j in range(N)]])


@wrong(
    "reduce_and_broadcast_vjp", "The mean's path is missing from dX.", "the path through the mean forgotten"
)
def nothing_through_the_mean(dY):
    return sp.Matrix(dY), sp.Matrix([[sum(dY.col(j)) for j in range(dY.cols)]])


@wrong(
    "reduce_and_broadcast_vjp",
    "The mean was taken along rows, and you took columns.",
    "mean over the wrong axis",
)
def centred_along_columns(dY):
    M = dY.rows
    return (sp.eye(M) - sp.ones(M, M) / M) * dY, sp.ones(1, M) * dY


@wrong(
    "reduce_and_broadcast_vjp",
    "The 1/N is missing in dX, and db is a mean: two mistakes.",
    "1/N forgotten + db averaged",
)
def sum_subtracted_and_db_averaged(dY):
    N = dY.cols
    return dY * (sp.eye(N) - sp.ones(N, N)), sp.ones(1, dY.rows) * dY / dY.rows


@wrong("reduce_and_broadcast_vjp", "db sums rows; it needs one number per column.", "wrong shape")
def db_summed_along_rows(dY):
    N = dY.cols
    return dY * (sp.eye(N) - sp.ones(N, N) / N), (dY * sp.ones(N, 1)).T


@wrong("reduce_and_broadcast_vjp", "Both signs of the centring are wrong: dX is mean minus dY.", "sign")
def mean_minus_gradient(dY):
    means = [sum(dY[i, :]) / dY.cols for i in range(dY.rows)]
    dX = sp.Matrix(dY.rows, dY.cols, lambda i, j: means[i] - dY[i, j])
    return dX, sp.ones(1, dY.rows) * dY
