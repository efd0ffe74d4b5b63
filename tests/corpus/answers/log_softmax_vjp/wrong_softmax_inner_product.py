# label: wrong
# title: softmax inner product
# says: the line `e = p.dot(dlog)` takes the inner product with p, as for softmax; for log-softmax it is the
#   plain sum of dlog
# names: weighted by p

def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    e = p.dot(dlog)
    return dlog - p * e
