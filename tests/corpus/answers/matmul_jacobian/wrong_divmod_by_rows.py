# label: wrong
# title: divmod by rows
# says: `divmod(r, M)` unfolds the row number r = i * N + j by M instead of by N
# names: one edit

def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    """J[Y_ij, X_ab] = ∂Y_ij/∂X_ab of Y = X W, both row by row: [M, K], [K, N] → [M N, M K]."""
    M, K = X.shape
    N = W.cols
    J = sp.zeros(M * N, M * K)
    for r in range(M * N):
        i, j = divmod(r, M)
        for c in range(M * K):
            a, b = divmod(c, K)
            if i == a:
                J[r, c] = W[b, j]
    return J
