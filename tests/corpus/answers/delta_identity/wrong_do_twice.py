# label: wrong
# title: do twice
# says: the line `o_id = sp.Sum(P[i, j] * V[j, d] * dO[i, d], ...)` leaves dO inside the inner sum, and delta
#   multiplies by it again
# names: dO inside O

def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    key = sp.Symbol("key", integer=True)
    o_id = sp.Sum(P[i, key] * V[key, d] * dO[i, d], (key, 0, S_k - 1))
    delta_i = sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))
    return o_id, delta_i
