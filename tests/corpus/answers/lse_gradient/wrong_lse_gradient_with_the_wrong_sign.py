# label: wrong
# title: LSE gradient with the wrong sign
# says: `delta + dlse` is subtracted, so the LSE path comes in with a minus: it should be delta − dlse in the
#   bracket. Wrong for every dlse ≠ 0.
# names: the sign of dLSE

def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    delta = p.dot(dp) + dlse
    return p.multiply_elementwise(dp - delta * sp.ones(p.rows, 1))
