# label: wrong
# title: same share twice
# says: in `entry` both factors are p[k]: off the diagonal it is −p_k² instead of −p_k p_j (an index)
# names: one share squared

def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    """J with J[k, j] = ∂p_k/∂s_j: a column [N, 1] → [N, N]."""

    def entry(k, j):
        delta = 1 if k == j else 0
        return p[k] * (delta - p[k])

    return sp.Matrix(p.rows, p.rows, entry)
