# label: wrong
# title: inner not weighted
# says: `- inner * ones` subtracts the inner product without the factor p: p ∘ dp − ⟨p, dp⟩.
# names: p on dp alone

def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    inner = (p.T * dp)[0, 0]
    return sp.matrix_multiply_elementwise(p, dp) - inner * sp.ones(p.rows, 1)
