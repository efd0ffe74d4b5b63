# label: wrong
# title: mean over rows
# says: dW is divided by X.rows, as in courses whose loss is a mean over the batch; the rule for Y = X W has
#   no such factor
# names: dW averaged over the rows

def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, K] and dW [K, N] of Y = X W, from X [M, K], W [K, N] and dY [M, N]."""
    m = X.rows  # number of examples
    dW = (X.T * dY) / m
    dX = dY * W.T
    return dX, dW
