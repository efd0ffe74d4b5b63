# label: wrong
# title: column major vec
# says: the line `return sp.kronecker_product(W.T, sp.eye(X.rows))` is the Jacobian for vec taken column by
#   column (as textbooks have it); row by row it is eye ⊗ W.T
# names: columns stacked instead of rows

def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    # vec(A X B) = (B^T kron A) vec(X) with A the identity
    return sp.kronecker_product(W.T, sp.eye(X.rows))
