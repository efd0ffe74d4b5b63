# label: wrong
# title: no delta
# says: entry p[k] * (1 - p[j]) for all k and j: the case k = j is used off the diagonal too, where there is
#   no 1
# names: p_j (1 − p_k) everywhere

def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    n = p.rows
    return sp.Matrix(n, n, lambda k, j: p[k] * (1 - p[j]))
