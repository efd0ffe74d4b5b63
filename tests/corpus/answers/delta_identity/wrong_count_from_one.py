# label: wrong
# title: count from one
# says: both sums run as in a paper from 1 to S_k and from 1 to D, where indices are counted from 0 to S_k − 1
#   and D − 1
# names: counted from one

def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    """(o_id, delta_i): a sum over j with a free d, and a sum over d."""
    j = sp.Symbol("j", integer=True)
    o_id = sp.Sum(P[i, j] * V[j, d], (j, 1, S_k))
    delta_i = sp.Sum(o_id * dO[i, d], (d, 1, D))
    return o_id, delta_i
