"""Symbolic answers of lesson 01, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "matmul_jacobian",
    "`kronecker_product(W.T, eye(M))` is the column-by-column order. Row-major it is eye(M) ⊗ W.T, block-"
    "diagonal; wrong as soon as M > 1 and W is larger than 1 × 1.",
    "columns stacked instead of rows",
    title="Kronecker factors in the other order",
)(
    written("""
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    identity = sp.eye(X.rows)
    return sp.kronecker_product(W.T, identity)
""")
)

wrong(
    "matmul_jacobian",
    "The blocks on the diagonal are W; outputs run down and inputs run across, so each block must be W.T "
    "[N, K]. What is returned is the transpose of the Jacobian, of shape [M K, M N].",
    "W where Wᵀ belongs",
    title="blocks are W and not its transpose",
)(
    written('''
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    """one copy of W for each row of X"""
    blocks = []
    for row in range(X.rows):
        blocks.append(W)
    return sp.diag(*blocks)
''')
)

wrong(
    "matmul_jacobian",
    "In `J[j * M + i, ...]` the outputs are numbered column by column; row-major it is i * N + j. The "
    "entries are right and stand in the wrong rows as soon as M and N are both larger than 1.",
    "outputs numbered column by column",
    title="output rows numbered column by column",
)(
    written("""
def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    M, K = X.shape
    N = W.cols
    J = sp.zeros(M * N, M * K)
    for i in range(M):
        for j in range(N):
            for l in range(K):
                J[j * M + i, i * K + l] = W[l, j]
    return J
""")
)

wrong(
    "matmul_vjp",
    "`dY.T * X` has shape [N, K]; dW must have the shape of W, [K, N], which is X.T * dY.",
    "dW transposed",
    "wrong shape",
    title="dW comes out transposed",
)(
    written("""
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = dY * W.transpose()
    dW = dY.transpose() * X
    return dX, dW
""")
)

wrong(
    "matmul_vjp",
    "dW is divided by X.rows. W is used by M rows and gets M gradients, which add; a mean is wrong for "
    "every M > 1 (averaging belongs to the loss, not to the product).",
    "dW averaged over the rows",
    title="dW averaged over the rows",
)(
    written("""
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    # every row of X is one sample of the batch
    batch = X.rows
    gradient_of_x = dY * W.T
    gradient_of_w = X.T * dY / batch
    return gradient_of_x, gradient_of_w
""")
)

wrong(
    "reduce_and_broadcast_vjp",
    "The mean is subtracted forward, so its path comes back with a minus: dX = dY − row means. Here both "
    "paths are added with a plus; wrong for any dY with a row that does not sum to zero.",
    "the mean is added",
    title="mean path added instead of subtracted",
)(
    written("""
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.rows, dY.cols
    direct = dY
    through_mean = (dY * sp.ones(N, 1)) * sp.ones(1, N) / N
    dX = direct + through_mean  # used twice: gradients add
    db = sp.ones(1, M) * dY
    return dX, db
""")
)

wrong(
    "reduce_and_broadcast_vjp",
    "dX subtracts `sum(dY[:, j]) / M`, the mean of the column. The mean that was subtracted forward "
    "belongs to row i: sum(dY[i, :]) / N.",
    "mean over the wrong axis",
    title="column means in place of row means",
)(
    written("""
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.shape
    dX = sp.Matrix(M, N, lambda i, j: dY[i, j] - sum(dY[:, j]) / M)
    db = sp.Matrix(1, N, lambda _, j: sum(dY[:, j]))
    return dX, db
""")
)

wrong(
    "reduce_and_broadcast_vjp",
    "Two mistakes: the row sum is divided by M (dY.rows) instead of by N, wrong whenever M ≠ N; and db is "
    "divided by M, although the bias is used M times and its gradients add.",
    "row sum divided by M + db averaged",
    title="row sum over M and averaged bias",
)(
    written("""
def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    n_rows, n_cols = dY.shape
    row_totals = dY * sp.ones(n_cols, 1)
    dX = dY - row_totals * sp.ones(1, n_cols) / n_rows
    db = (sp.ones(1, n_rows) * dY) / n_rows
    return dX, db
""")
)

right("matmul_vjp", "dX by transposing twice, dW row by row")(
    written("""
def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = (W * dY.T).T
    dW = sp.zeros(X.cols, dY.cols)
    for m in range(X.rows):
        dW += X[m, :].T * dY[m, :]  # what row m has to say about W
    return dX, dW
""")
)
