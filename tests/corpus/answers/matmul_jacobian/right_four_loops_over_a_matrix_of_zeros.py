# label: right
# title: four loops over a matrix of zeros

def four_loops(X, W):
    M, K, N = X.rows, X.cols, W.cols
    J = sp.zeros(M * N, M * K)
    for i in range(M):
        for j in range(N):
            for b in range(K):
                J[i * N + j, i * K + b] = W[b, j]
    return J
