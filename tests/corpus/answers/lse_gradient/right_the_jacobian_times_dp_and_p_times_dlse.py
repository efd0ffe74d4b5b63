# label: right
# title: the Jacobian times dp, and p times dlse

def lse_by_the_jacobian(p, dp, dlse):
    return (sp.diag(*p) - p * p.T) * dp + dlse * p
