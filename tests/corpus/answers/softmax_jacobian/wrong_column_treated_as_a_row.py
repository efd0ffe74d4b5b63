# label: wrong
# title: column treated as a row
# says: p is a column, so `p.T * p` is a 1 × 1 matrix and sympy refuses to subtract it from N × N for every N
#   > 1. The outer product of a column is p * p.T.
# names: crashed; ⟨p, p⟩ in place of p pᵀ

def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    D = sp.diag(*p)
    return D - p.T * p
