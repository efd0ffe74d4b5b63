# label: wrong
# title: sign off diagonal
# says: the entries off the diagonal are `p[k] * p[j]` without the minus sign.
# names: sign

def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    N = p.rows
    return sp.Matrix(N, N, lambda k, j: p[k] * (1 - p[k]) if k == j else p[k] * p[j])
