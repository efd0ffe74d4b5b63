# label: wrong
# title: bound one too far
# says: line `o_id`: the sum over j runs to S_k inclusive, one key too many
# names: index range

def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    j = sp.Symbol("j", integer=True)
    o_id = sp.Sum(P[i, j] * V[j, d], (j, 0, S_k))
    delta_i = sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))
    return o_id, delta_i
