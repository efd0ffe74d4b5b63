# label: right
# title: one double sum, and a dummy index of its own for d

def identity_as_a_double_sum(P, V, dO, i, d, S_k, D):
    j, c = sp.symbols("j c", integer=True)
    o_id = sp.Sum(V[j, d] * P[i, j], (j, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, c] * P[i, j] * V[j, c], (j, 0, S_k - 1), (c, 0, D - 1))
