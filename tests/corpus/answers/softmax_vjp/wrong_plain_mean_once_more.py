# label: wrong
# title: plain mean, once more
# says: the line `middle = …` takes the plain mean of dp (as in lesson 01's centring), where it must be the
#   mean weighted by p, ⟨p, dp⟩
# names: plain mean of dp

def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    """ds = Jᵀ dp without J: two columns [N, 1] → a column [N, 1]."""
    middle = sum(dp) / sp.Integer(p.rows)
    centred = dp - middle * sp.ones(p.rows, 1)
    return p.multiply_elementwise(centred)
