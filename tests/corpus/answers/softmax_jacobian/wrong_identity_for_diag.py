# label: wrong
# title: identity for diag
# says: sp.eye stands where diag(p) belongs: the diagonal is 1 - p_k^2 instead of p_k - p_k^2
# names: the identity for diag(p)

def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    """J with J[k, j] = ∂p_k/∂s_j: a column [N, 1] → [N, N]."""
    outer = p * p.T
    return sp.eye(p.rows) - outer
