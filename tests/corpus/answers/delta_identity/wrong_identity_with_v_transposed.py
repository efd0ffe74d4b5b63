# label: wrong
# title: identity with v transposed
# says: V has keys as rows: V[j, d].
# names: indices of V exchanged

def identity_with_v_transposed(P, V, dO, i, d, S_k, D):
    k = sp.Symbol("k", integer=True)
    o_id = sp.Sum(P[i, k] * V[d, k], (k, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))
