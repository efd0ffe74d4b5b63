# label: wrong
# title: dx left transposed
# says: the line `dX = W * dY.T` is dX transposed, [K, M]: the last .T is missing
# names: transposed

def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = W * dY.T
    dW = X.T * dY
    return dX, dW
