# label: wrong
# title: gradient of the transposed keys and no alpha in dQ
# says: Two mistakes: dQ lacks alpha; and what is returned as dK is the gradient of K.T, alpha · q.T · ds of
#   shape [D, S_k]. It has to be transposed, alpha · ds.T · q.
# names: alpha forgotten in dQ + dK transposed; factor + dK transposed; alpha forgotten in dQ + wrong shape

def attention_dq_dk(
    q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr
) -> tuple[sp.Matrix, sp.Matrix]:
    X, W = q, k.T
    dX = ds * W.T
    dW = X.T * (alpha * ds)
    return dX, dW
