# label: wrong
# title: divides by lse
# says: `sp.exp(x) / lse` divides by the logarithm of the sum; p is exp(s − lse).
# names: divided by the LSE

def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(l) + m
    p = s.applyfunc(lambda x: sp.exp(x) / lse)
    return lse, p
