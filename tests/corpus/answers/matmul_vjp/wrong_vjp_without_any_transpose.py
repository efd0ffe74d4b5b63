# label: wrong
# title: vjp without any transpose
# says: The shapes do not fit: W has to be transposed.
# names: crashed; wrong shape

def vjp_without_any_transpose(X, W, dY):
    return dY * W, X * dY
