# label: wrong
# title: divided by lse
# says: line sp.exp(s_j) / lse: the logarithm is used as if it were the sum itself
# names: divided by the LSE

def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(l) + m
    p = s.applyfunc(lambda s_j: sp.exp(s_j) / lse)
    return lse, p
