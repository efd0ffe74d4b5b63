# label: wrong
# title: dlse everywhere
# says: line + dlse * ones: the gradient of LSE is added to every score in full, not by the share p_j
# names: dLSE without p

def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    n = p.rows
    through_p = p.multiply_elementwise(dp - p.dot(dp) * sp.ones(n, 1))
    through_lse = dlse * sp.ones(n, 1)
    return through_p + through_lse
