# label: wrong
# title: column major indices
# says: vec goes column by column here; row by row was asked for.
# names: columns stacked instead of rows

def column_major_indices(X, W):
    M, K, N = X.rows, X.cols, W.cols
    J = sp.zeros(M * N, M * K)
    for i in range(M):
        for j in range(N):
            for b in range(K):
                J[j * M + i, b * M + i] = W[b, j]
    return J
