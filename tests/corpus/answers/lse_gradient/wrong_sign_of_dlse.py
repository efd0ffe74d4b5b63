# label: wrong
# title: sign of dlse
# says: the line `inner = p.dot(dp) + dlse` subtracts dlse with delta; the derivative of LSE by s_j is +p_j,
#   so it is delta - dlse
# names: the sign of dLSE

def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    inner = p.dot(dp) + dlse
    return sp.Matrix([p_j * (dp_j - inner) for p_j, dp_j in zip(p, dp)])
