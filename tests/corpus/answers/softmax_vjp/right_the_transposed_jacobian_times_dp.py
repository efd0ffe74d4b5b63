# label: right
# title: the transposed Jacobian times dp

def vjp_by_the_matrix(p, dp):
    return (sp.diag(*p) - p * p.T).T * dp
