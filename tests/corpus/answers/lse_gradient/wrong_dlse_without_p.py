# label: wrong
# title: dlse without p
# says: dLSE is added to every score as it is (`+ dlse * ones`), without the factor p_j = ∂LSE/∂s_j.
# names: dLSE without p

def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    one = sp.ones(p.rows, 1)
    through_p = p.multiply_elementwise(dp - p.dot(dp) * one)
    return through_p + dlse * one
