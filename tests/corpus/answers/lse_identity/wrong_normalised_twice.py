# label: wrong
# title: normalised twice
# says: p is divided by l once more, though lse already contains log(l)
# names: normalised twice

def lse_identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    """(lse, p): the logarithm of Σ exp(s_j) from m and l = Σ exp(s_j − m), and softmax(s) from s and lse."""
    lse = sp.log(l) + m
    e = s.applyfunc(lambda x: sp.exp(x - lse))
    return lse, e / l
