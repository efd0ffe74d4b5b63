# label: wrong
# title: vjp with a mean
# says: W is used by every row: sum, not mean.
# names: dW averaged over the rows

def vjp_with_a_mean(X, W, dY):
    dW = sp.zeros(W.rows, W.cols)
    for i in range(X.rows):
        dW += X[i, :].T * dY[i, :]
    return dY * W.T, dW / X.rows
