# label: wrong
# title: log vjp without the share
# says: The share p_j in front of the sum is missing.
# names: the sum without p

def log_vjp_without_the_share(p, dlog):
    return sp.Matrix([d - sum(dlog) for d in dlog])
