# label: wrong
# title: columns mean
# says: line `mean`: takes the mean over the rows of dY (NumPy axis=0) instead of over each row
# names: mean over the wrong axis

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.shape
    mean = sp.ones(1, M) * dY / M
    dX = sp.Matrix(M, N, lambda i, j: dY[i, j] - mean[j])
    db = sp.Matrix(1, N, lambda _, j: sum(dY[i, j] for i in range(M)))
    return dX, db
