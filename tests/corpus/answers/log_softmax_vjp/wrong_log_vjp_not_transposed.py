# label: wrong
# title: log vjp not transposed
# says: The Jacobian has to be transposed.
# names: J in place of its transpose

def log_vjp_not_transposed(p, dlog):
    return (sp.eye(p.rows) - sp.ones(p.rows, 1) * p.T) * dlog
