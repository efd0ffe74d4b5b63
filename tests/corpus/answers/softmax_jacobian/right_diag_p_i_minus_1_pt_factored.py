# label: right
# title: diag(p) (I − 1 pᵀ), factored

def jacobian_factored(p):
    n = p.rows
    return sp.diag(*p) * (sp.eye(n) - sp.ones(n, 1) * p.T)
