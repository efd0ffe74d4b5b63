# label: wrong
# title: identity up to the sizes
# says: sympy's sums include their upper end.
# names: one term too many; index range

def identity_up_to_the_sizes(P, V, dO, i, d, S_k, D):
    n = sp.Symbol("n", integer=True)
    o_id = sp.summation(P[i, n] * V[n, d], (n, 0, S_k))
    return o_id, sp.Sum(o_id * dO[i, d], (d, 0, D))
