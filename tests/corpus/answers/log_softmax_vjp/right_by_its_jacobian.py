# label: right
# title: by its jacobian

def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    """ds for l = log softmax(s), from p = softmax(s) and dlog = ∂L/∂l: two columns [N, 1] → a column [N, 1]."""
    n = p.rows
    J = sp.eye(n) - sp.ones(n, 1) * p.T
    return (dlog.T * J).T
