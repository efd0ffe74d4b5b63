# label: wrong
# title: jacobian with a plus
# says: Off the diagonal the sign is wrong.
# names: sign; plus p pᵀ

def jacobian_with_a_plus(p):
    n = p.rows
    J = sp.zeros(n, n)
    for k in range(n):
        for j in range(n):
            J[k, j] = p[k] * (1 - p[k]) if k == j else p[k] * p[j]
    return J
