# label: wrong
# title: weighted sum
# says: `p.dot(dlog)` weights the sum with p, as for softmax; for log softmax the plain sum of dlog is needed.
# names: weighted by p

def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    return dlog - p.dot(dlog) * p
