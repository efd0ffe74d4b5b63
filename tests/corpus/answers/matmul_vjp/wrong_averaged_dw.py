# label: wrong
# title: averaged dw
# says: line dW = X.T * dY / X.rows: the weight gradient is divided by the number of rows, as in a mean loss,
#   which is not in the formula
# names: dW averaged over the rows

def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    batch = X.rows
    dX = (W * dY.T).T
    dW = X.T * dY / batch
    return dX, dW
