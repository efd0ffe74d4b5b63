# label: wrong
# title: column means in place of row means
# says: dX subtracts `sum(dY[:, j]) / M`, the mean of the column. The mean that was subtracted forward belongs
#   to row i: sum(dY[i, :]) / N.
# names: mean over the wrong axis

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.shape
    dX = sp.Matrix(M, N, lambda i, j: dY[i, j] - sum(dY[:, j]) / M)
    db = sp.Matrix(1, N, lambda _, j: sum(dY[:, j]))
    return dX, db
