# label: wrong
# title: off diagonal plus
# says: in the lambda the case k != j is `p[k] * p[j]`: the minus sign is missing
# names: sign

def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    def entry(k, j):
        if k == j:
            return p[k] * (1 - p[k])
        return p[k] * p[j]

    return sp.Matrix(p.rows, p.rows, entry)
