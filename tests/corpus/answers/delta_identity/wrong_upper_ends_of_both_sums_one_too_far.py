# label: wrong
# title: upper ends of both sums one too far
# says: sp.Sum includes both ends: the last key is S_k − 1 and the last component D − 1. With (j, 0, S_k) and
#   (d, 0, D) a key and a component are added that do not exist.
# names: one term too many; index range

def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    key = sp.Symbol("key", integer=True)
    o_id = sp.Sum(P[i, key] * V[key, d], (key, 0, S_k))
    delta_i = sp.Sum(dO[i, d] * o_id, (d, 0, D))
    return o_id, delta_i
