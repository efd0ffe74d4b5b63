# label: wrong
# title: sum of units
# says: the line `lse = sp.log(sp.exp(m) + l)` adds the two units; l counts in units of exp(m), so it is
#   log(exp(m) * l) = m + log l
# names: one edit

def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    lse = sp.log(sp.exp(m) + l)
    p = s.applyfunc(lambda x: sp.exp(x - lse))
    return lse, p
