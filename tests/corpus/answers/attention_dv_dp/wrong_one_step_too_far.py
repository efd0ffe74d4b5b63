# label: wrong
# title: one step too far
# says: the line `dP = p.multiply_elementwise(…)` goes on through the softmax, so what is returned as dP is dS
# names: dS in place of dP

def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """(dV, dP) of O = P V: [S_q, S_k], [S_k, D], [S_q, D] → [S_k, D], [S_q, S_k]."""
    dV = p.T * do
    dA = do * v.T
    ones = sp.ones(p.cols, 1)
    delta = p.multiply_elementwise(dA) * ones
    dP = p.multiply_elementwise(dA - delta * ones.T)
    return dV, dP
