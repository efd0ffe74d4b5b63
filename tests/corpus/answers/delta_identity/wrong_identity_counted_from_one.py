# label: wrong
# title: identity counted from one
# says: Counting starts at 0, for keys and components.
# names: counted from one; index range

def identity_counted_from_one(P, V, dO, i, d, S_k, D):
    key = sp.Symbol("key", integer=True)
    o = sp.Sum(P[i, key] * V[key, d], (key, 1, S_k))
    return o, sp.Sum(dO[i, d] * o, (d, 1, D))
