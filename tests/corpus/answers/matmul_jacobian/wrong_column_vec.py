# label: wrong
# title: column vec
# says: the return line uses the textbook formula Wᵀ ⊗ I for a column-by-column vec, where the exercise orders
#   rows and columns row by row (I ⊗ Wᵀ)
# names: columns stacked instead of rows

def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    """J[Y_ij, X_ab] = ∂Y_ij/∂X_ab of Y = X W, both row by row: [M, K], [K, N] → [M N, M K]."""
    # vec(A X B) = (B^T kron A) vec(X), with A = I and B = W
    m = X.rows
    return sp.Matrix(sp.kronecker_product(W.T, sp.eye(m)))
