# label: wrong
# title: as many blocks as X has columns
# says: There is a block for each row of X; this makes one for each column.
# names: one edit

def matmul_jacobian(X, W):
    return sp.diag(*[W.T for _ in range(X.cols)])
