# label: wrong
# title: mean touches own entry
# says: the line `dX = dY * (1 - 1/N)` lets the mean of a row depend on X_ij only where the same Y_ij is
#   meant: the mean goes to all N outputs of the row, so the row mean of dY must be subtracted
# names: the row's own entry only

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    N = dY.cols
    # dY_ij/dX_ij = 1 - 1/N
    dX = dY * (1 - sp.Rational(1, N))
    db = sp.Matrix(1, N, lambda _, j: sum(dY[i, j] for i in range(dY.rows)))
    return dX, db
