# label: right
# title: through softmax, with dp = dlog / p

def log_vjp_through_softmax(p, dlog):
    dp = sp.Matrix([d / q for d, q in zip(dlog, p, strict=True)])
    return p.multiply_elementwise(dp - sp.ones(p.rows, 1) * p.dot(dp))
