# label: right
# title: entry by entry, from the sums

def vjp_from_the_sums(X, W, dY):
    dX = sp.Matrix(X.rows, X.cols, lambda a, b: sum(dY[a, j] * W[b, j] for j in range(W.cols)))
    dW = sp.Matrix(W.rows, W.cols, lambda a, b: sum(X[i, a] * dY[i, b] for i in range(X.rows)))
    return dX, dW
