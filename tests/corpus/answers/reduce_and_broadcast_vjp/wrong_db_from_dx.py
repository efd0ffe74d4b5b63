# label: wrong
# title: db from dX
# says: db sums the columns of dX (already centred) instead of those of dY, as though the bias had been added
#   before the mean was taken off
# names: db from dX; one edit

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, N] and db [1, N] of Y_ij = X_ij − mean of row i of X + b_j, from dY [M, N]."""
    M, N = dY.shape
    dX = sp.Matrix(M, N, lambda i, j: dY[i, j] - sum(dY[i, :]) / N)
    db = sp.Matrix(1, N, lambda _, j: sum(dX[:, j]))
    return dX, db
