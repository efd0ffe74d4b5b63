# label: wrong
# title: blocks everywhere
# says: Row i of Y reads row i of X alone: the blocks off the diagonal are zero.
# names: a block in every place

def blocks_everywhere(X, W):
    M = X.rows
    return sp.Matrix(sp.BlockMatrix([[W.T] * M for _ in range(M)]).as_explicit())
