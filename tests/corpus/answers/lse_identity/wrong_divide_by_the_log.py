# label: wrong
# title: divide by the log
# says: the line `p = …` divides exp(s_j) by lse, which is the logarithm of the sum and not the sum
# names: divided by the LSE

def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    """(lse, p): the logarithm of Σ exp(s_j) from m and l = Σ exp(s_j − m), and softmax(s) from s and lse."""
    lse = sp.log(l) + m
    p = s.applyfunc(sp.exp) / lse
    return lse, p
