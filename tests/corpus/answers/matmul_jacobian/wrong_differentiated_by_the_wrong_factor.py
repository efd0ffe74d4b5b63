# label: wrong
# title: differentiated by the wrong factor
# says: You differentiated by W.
# names: the derivative by W

def differentiated_by_the_wrong_factor(X, W):
    mine = sp.Matrix(W.rows, W.cols, sp.symbols(f"u0:{len(W)}"))
    y = sp.Matrix(list(X * mine))
    return y.jacobian(list(mine))
