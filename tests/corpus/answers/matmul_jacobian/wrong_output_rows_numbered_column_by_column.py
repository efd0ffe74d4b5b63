# label: wrong
# title: output rows numbered column by column
# says: In `J[j * M + i, ...]` the outputs are numbered column by column; row-major it is i * N + j. The
#   entries are right and stand in the wrong rows as soon as M and N are both larger than 1.
# names: outputs numbered column by column

def matmul_jacobian(X: sp.Matrix, W: sp.Matrix) -> sp.Matrix:
    M, K = X.shape
    N = W.cols
    J = sp.zeros(M * N, M * K)
    for i in range(M):
        for j in range(N):
            for l in range(K):
                J[j * M + i, i * K + l] = W[l, j]
    return J
