# label: wrong
# title: vjp of the sum
# says: dY does not occur: this is the gradient of Y's plain sum.
# names: dY left out

def vjp_of_the_sum(X, W, dY):
    dX = sp.Matrix(X.rows, X.cols, lambda i, b: sum(W[b, :]))
    dW = sp.Matrix(W.rows, W.cols, lambda b, j: sum(X[:, b]))
    return dX, dW
