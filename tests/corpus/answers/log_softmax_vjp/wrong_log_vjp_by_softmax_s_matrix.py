# label: wrong
# title: log vjp by softmax s matrix
# says: That is the gradient through softmax itself.
# names: softmax's own formula

def log_vjp_by_softmax_s_matrix(p, dlog):
    return (sp.diag(*p) - p * p.T) * dlog
