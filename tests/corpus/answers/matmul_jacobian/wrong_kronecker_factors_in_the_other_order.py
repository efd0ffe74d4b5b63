# label: wrong
# title: Kronecker factors in the other order
# says: `kronecker_product(W.T, eye(M))` is the column-by-column order. Row-major it is eye(M) ⊗ W.T,
#   block-diagonal; wrong as soon as M > 1 and W is larger than 1 × 1.
# names: columns stacked instead of rows

def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    identity = sp.eye(X.rows)
    return sp.kronecker_product(W.T, identity)
