# label: wrong
# title: dO left inside the inner sum
# says: o_id still contains dO[i, d], which does not depend on the keys and had to be taken out; then dO is
#   multiplied in again, so delta_i has dO twice.
# names: dO inside O

def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    n = sp.symbols("n", integer=True)
    o_id = sp.Sum(P[i, n] * dO[i, d] * V[n, d], (n, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))
