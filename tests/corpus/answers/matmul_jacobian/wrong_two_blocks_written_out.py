# label: wrong
# title: two blocks written out
# says: Two blocks are written out; there are M of them.
# names: wrong shape

def two_blocks_written_out(X, W):
    return sp.diag(W.T, W.T)
