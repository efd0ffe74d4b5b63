# label: wrong
# title: bias through centring
# says: the line for db sums the columns of the centred dX instead of those of dY, as if the bias had been
#   added before the mean was subtracted
# names: db from dX; one edit

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, N] and db [1, N] of Y_ij = X_ij − mean of row i of X + b_j, from dY [M, N]."""
    M, N = dY.shape
    row_sums = dY * sp.ones(N, 1)
    dX = dY - row_sums * sp.ones(1, N) / N
    db = sp.ones(1, M) * dX
    return dX, db
