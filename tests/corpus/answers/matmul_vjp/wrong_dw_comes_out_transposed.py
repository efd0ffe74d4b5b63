# label: wrong
# title: dW comes out transposed
# says: `dY.T * X` has shape [N, K]; dW must have the shape of W, [K, N], which is X.T * dY.
# names: dW transposed; wrong shape

def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = dY * W.transpose()
    dW = dY.transpose() * X
    return dX, dW
