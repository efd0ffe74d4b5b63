# label: wrong
# title: range like python
# says: the limits `(j, 0, S_k)` and `(d, 0, D)` are half-open in Python but inclusive in sp.Sum: one term too
#   many in each sum.
# names: one term too many

def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    key = sp.symbols("key", integer=True)
    o_id = sp.Sum(P[i, key] * V[key, d], (key, 0, S_k))
    delta_i = sp.Sum(dO[i, d] * o_id, (d, 0, D))
    return o_id, delta_i
