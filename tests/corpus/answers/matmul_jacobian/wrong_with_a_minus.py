# label: wrong
# title: with a minus
# says: Every entry has the wrong sign.
# names: sign

def with_a_minus(X, W):
    return -sp.kronecker_product(sp.eye(X.rows), W.T)
