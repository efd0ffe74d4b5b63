# label: wrong
# title: counted from one
# says: both sums run from 1 to S_k and from 1 to D, as in papers, though keys and components are counted from
#   0
# names: counted from one

def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    """(o_id, delta_i): a sum over j with a free d, and a sum over d."""
    key = sp.Symbol("key", integer=True)
    o_id = sp.Sum(P[i, key] * V[key, d], (key, 1, S_k))
    delta_i = sp.Sum(o_id * dO[i, d], (d, 1, D))
    return o_id, delta_i
