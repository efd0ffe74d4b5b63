# label: right
# title: the transposed Jacobian of the logarithms

def log_vjp_by_the_matrix(p, dlog):
    J = sp.eye(p.rows) - sp.ones(p.rows, 1) * p.T
    return J.T * dlog
