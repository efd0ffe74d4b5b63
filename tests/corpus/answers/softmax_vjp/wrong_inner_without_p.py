# label: wrong
# title: inner without p
# says: the inner product is subtracted outside the bracket: p∘dp − <p, dp>, without the factor p_j on the
#   second term
# names: p on dp alone

def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    """ds = Jᵀ dp without J: two columns [N, 1] → a column [N, 1]."""
    weighted = p.multiply_elementwise(dp)
    total = sum(weighted)
    return weighted - total * sp.ones(p.rows, 1)
