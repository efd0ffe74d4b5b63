# label: wrong
# title: log vjp with an inner product
# says: The sum of dlog is not weighted by p.
# names: weighted by p

def log_vjp_with_an_inner_product(p, dlog):
    return sp.Matrix([dlog[j] - p[j] * (p.T * dlog)[0] for j in range(p.rows)])
