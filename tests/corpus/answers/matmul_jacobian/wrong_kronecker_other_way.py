# label: wrong
# title: kronecker other way
# says: the line returns W.T ⊗ I, which is the Jacobian for column-major vec; row-major asks for I ⊗ W.T
# names: columns stacked instead of rows

def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    return sp.Matrix(sp.kronecker_product(W.T, sp.eye(X.rows)))
