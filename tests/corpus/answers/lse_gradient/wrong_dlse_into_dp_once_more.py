# label: wrong
# title: dlse into dp, once more
# says: the line `g = …` adds dlse to dp before the softmax formula, where it enters the inner product as well
#   and cancels: the path through LSE contributes nothing
# names: dLSE forgotten

def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    """ds of one query, by way of p and by way of LSE: two columns [N, 1] and a number → a column [N, 1]."""
    one = sp.ones(p.rows, 1)
    g = dp + dlse * one  # the two gradients add
    return p.multiply_elementwise(g - p.dot(g) * one)
