# label: wrong
# title: gradients as columns
# says: The rows belong to inputs: this is the transpose.
# names: W where Wᵀ belongs; transposed

def gradients_as_columns(X, W):
    M, K, N = X.rows, X.cols, W.cols
    J = sp.zeros(M * K, M * N)
    for i in range(M):
        J[i * K : (i + 1) * K, i * N : (i + 1) * N] = W
    return J
