# label: wrong
# title: column order
# says: `kronecker_product(W.T, eye(M))` is the Jacobian of the column-by-column vec; the exercise flattens
#   row by row.
# names: columns stacked instead of rows

def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    # vec(XW) = (W^T kron I) vec(X)
    return sp.Matrix(sp.kronecker_product(W.T, sp.eye(X.rows)))
