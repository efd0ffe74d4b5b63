# label: right
# title: a Kronecker product, given as a list of rows

def kronecker_as_rows(X, W):
    return sp.kronecker_product(sp.eye(X.rows), W.T).tolist()
