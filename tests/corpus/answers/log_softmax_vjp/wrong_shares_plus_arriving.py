# label: wrong
# title: p plus what arrives, as for a loss
# says: that is p − onehot, if dlog is −1 at one class; the factor Σ dlog is missing
# names: one class of a loss

def log_softmax_vjp(p, dlog):
    return sp.Matrix(p.rows, 1, lambda j, _: dlog[j] + p[j])
