# label: right
# title: a KroneckerDelta in every entry

def jacobian_by_kronecker_delta(p):
    return sp.Matrix(p.rows, p.rows, lambda k, j: p[k] * (sp.KroneckerDelta(k, j) - p[j]))
