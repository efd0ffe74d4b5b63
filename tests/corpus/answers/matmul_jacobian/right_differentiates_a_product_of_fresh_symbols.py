# label: right
# title: differentiates a product of fresh symbols

def by_differentiating(X, W):
    mine = sp.Matrix(X.rows, X.cols, sp.symbols(f"t0:{X.rows * X.cols}"))
    y = (mine * W).reshape(X.rows * W.cols, 1)
    return y.jacobian(mine.reshape(1, len(mine)))
