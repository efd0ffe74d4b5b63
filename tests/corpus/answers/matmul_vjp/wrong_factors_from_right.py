# label: wrong
# title: factors from right
# says: line `dW = dY.T * X`: that is dW transposed, [N, K] instead of [K, N]
# names: dW transposed

def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = (W * dY.T).T
    dW = dY.T * X
    return dX, dW
