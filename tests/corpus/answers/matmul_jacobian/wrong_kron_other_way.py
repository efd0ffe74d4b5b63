# label: wrong
# title: kron other way
# says: line `return`: Kronecker product in column-major order, kron(Wᵀ, I) instead of kron(I, Wᵀ)
# names: columns stacked instead of rows

def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    n_rows = X.shape[0]
    return sp.Matrix(sp.kronecker_product(W.T, sp.eye(n_rows)))
