# label: wrong
# title: second sum over as many as keys
# says: delta sums over the components of O, of which there are D; here the last index is S_k - 1.
# names: one edit

def delta_identity(P, V, dO, i, d, S_k, D):
    j = sp.Symbol("j", integer=True)
    o_id = sp.Sum(P[i, j] * V[j, d], (j, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, d] * o_id, (d, 0, S_k - 1))
