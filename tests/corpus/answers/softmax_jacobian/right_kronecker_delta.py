# label: right
# title: kronecker delta

def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    return sp.Matrix(len(p), len(p), lambda k, j: p[k] * (sp.KroneckerDelta(k, j) - p[j]))
