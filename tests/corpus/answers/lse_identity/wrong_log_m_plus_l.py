# label: wrong
# title: log m plus l
# says: line `lse`: log(exp(m) + l), the logarithm of a sum of exp(m) and l, instead of m + log l
# names: one edit

def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(sp.exp(m) + l)
    p = sp.Matrix([sp.exp(e - lse) for e in s])
    return lse, p
