# label: right
# title: dX by transposing twice, dW row by row

def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dX = (W * dY.T).T
    dW = sp.zeros(X.cols, dY.cols)
    for m in range(X.rows):
        dW += X[m, :].T * dY[m, :]  # what row m has to say about W
    return dX, dW
