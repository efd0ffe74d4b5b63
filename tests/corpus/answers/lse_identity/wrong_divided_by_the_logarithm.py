# label: wrong
# title: divided by the logarithm
# says: p divides e^(s_j) by lse, the logarithm of the denominator. Either divide by exp(lse) or subtract in
#   the exponent: exp(s_j − lse).
# names: divided by the LSE

def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = m + sp.log(l)
    return lse, sp.Matrix([sp.exp(x) / lse for x in s])
