# label: wrong
# title: v indices swapped
# says: line V[d, j]: the value matrix is indexed [component, key], but V is [key, component]
# names: indices of V exchanged

def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    key = sp.Symbol("key", integer=True, nonnegative=True)
    o_id = sp.Sum(P[i, key] * V[d, key], (key, 0, S_k - 1))
    return o_id, sp.Sum(o_id * dO[i, d], (d, 0, D - 1))
