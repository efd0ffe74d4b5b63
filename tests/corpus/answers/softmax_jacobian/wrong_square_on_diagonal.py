# label: wrong
# title: square on diagonal
# says: line `return`: on the diagonal 1 - p_k is taken without the factor p_k
# names: one edit

def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    n = len(p)
    return sp.Matrix(n, n, lambda k, j: 1 - p[k] if k == j else -p[k] * p[j])
