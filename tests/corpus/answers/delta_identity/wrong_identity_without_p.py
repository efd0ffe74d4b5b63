# label: wrong
# title: identity without p
# says: P is missing from the sum: O is a mean under P.
# names: P forgotten in O

def identity_without_p(P, V, dO, i, d, S_k, D):
    j = sp.Symbol("j", integer=True)
    o_id = sp.Sum(V[j, d], (j, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))
