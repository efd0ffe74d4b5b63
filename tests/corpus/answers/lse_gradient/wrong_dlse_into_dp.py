# label: wrong
# title: dlse into dp
# says: dlse is added to every entry of dp before the softmax rule (line `g = ...`), where the inner product
#   takes it off again: LSE's path has no effect
# names: dLSE forgotten

def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    """ds of one query, by way of p and by way of LSE: two columns [N, 1] and a number → a column [N, 1]."""
    one = sp.ones(p.rows, 1)
    g = dp + dlse * one  # two paths: their gradients add
    return p.multiply_elementwise(g - one * p.dot(g))
