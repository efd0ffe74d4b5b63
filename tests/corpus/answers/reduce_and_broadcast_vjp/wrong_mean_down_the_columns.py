# label: wrong
# title: mean down the columns
# says: `col_mean` is taken over the rows of dY; the forward pass subtracted the mean of each row, so dX needs
#   row means.
# names: mean over the wrong axis

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.shape
    db = sp.Matrix(1, N, lambda _, j: sum(dY[i, j] for i in range(M)))
    col_mean = db / M
    dX = sp.Matrix(M, N, lambda i, j: dY[i, j] - col_mean[j])
    return dX, db
