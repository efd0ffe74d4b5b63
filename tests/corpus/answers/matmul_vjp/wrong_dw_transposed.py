# label: wrong
# title: dw transposed
# says: `dW = dY.T * X` is the transpose of the gradient of W: shape [N, K] instead of [K, N].
# names: dW transposed

def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = dY * W.transpose()
    dW = dY.transpose() * X
    return dX, dW
