# label: wrong
# title: off the diagonal without the minus
# says: For k ≠ j the entry is −p_k p_j; here it is +p_k p_j. A larger score of another key lowers a share;
#   the rows must sum to zero, and do not for any N > 1.
# names: sign

def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    def entry(k, j):
        if k == j:
            return p[k] * (1 - p[k])
        return p[k] * p[j]

    return sp.Matrix(p.rows, p.rows, entry)
