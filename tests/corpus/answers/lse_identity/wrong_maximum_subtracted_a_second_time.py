# label: wrong
# title: maximum subtracted a second time
# says: lse = log(l) − m has the wrong sign: l is the sum of e^(s_j − m), so m is added back, m + log(l).
#   Right only for m = 0.
# names: maximum subtracted

def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(l) - m
    p = s.applyfunc(lambda s_j: sp.exp(s_j - lse))
    return lse, p
