# label: wrong
# title: own share only
# says: line dX = dY * (1 - 1/N): each entry keeps only the derivative of the mean by itself and loses what
#   the other columns of the row feel
# names: the row's own entry only

def reduce_and_broadcast_vjp(dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    M, N = dY.shape
    dX = dY * (1 - sp.Rational(1, N))
    db = sp.Matrix(1, N, lambda _, j: sum(dY[i, j] for i in range(M)))
    return dX, db
