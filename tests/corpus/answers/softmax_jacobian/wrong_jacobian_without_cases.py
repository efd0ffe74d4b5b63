# label: wrong
# title: jacobian without cases
# says: The diagonal's formula stands everywhere.
# names: p_j (1 − p_k) everywhere

def jacobian_without_cases(p):
    return p * (sp.ones(p.rows, 1) - p).T
