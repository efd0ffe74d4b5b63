# label: wrong
# title: every score gets the whole dlse
# says: The second path adds dlse to each entry; the derivative of LSE by score j is p_j, so it must be p_j ·
#   dlse. Wrong for N > 1 and dlse ≠ 0 (the row would sum to N · dlse).
# names: dLSE without p

def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    n = p.rows
    through_p = p.multiply_elementwise(dp - sp.ones(n, 1) * p.dot(dp))
    through_lse = sp.ones(n, 1) * dlse
    return through_p + through_lse
