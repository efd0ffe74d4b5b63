# label: right
# title: differentiates a trace

def matmul_vjp(X: sp.Matrix, W: sp.Matrix, dY: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dX [M, K] and dW [K, N] of Y = X W, from X [M, K], W [K, N] and dY [M, N]."""
    x = sp.Matrix(X.rows, X.cols, lambda i, j: sp.Dummy(f"x{i}{j}"))
    w = sp.Matrix(W.rows, W.cols, lambda i, j: sp.Dummy(f"w{i}{j}"))
    y = x * w
    loss = sum(dY[i, j] * y[i, j] for i in range(dY.rows) for j in range(dY.cols))
    given = dict(zip(list(x) + list(w), list(X) + list(W)))
    dX = x.applyfunc(lambda entry: sp.diff(loss, entry).xreplace(given))
    dW = w.applyfunc(lambda entry: sp.diff(loss, entry).xreplace(given))
    return dX, dW
