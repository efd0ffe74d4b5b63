# label: wrong
# title: dlse without p, once more
# says: line `return`: the path through LSE is added as dlse itself, without the factor p
# names: dLSE without p

def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    d = sum(p[j] * dp[j] for j in range(p.rows))
    return sp.Matrix([p[j] * (dp[j] - d) + dlse for j in range(p.rows)])
