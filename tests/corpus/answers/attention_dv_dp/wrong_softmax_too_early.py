# label: wrong
# title: softmax too early
# says: dP is multiplied by P entry by entry, the first half of the softmax's backward pass, which does not
#   belong to O = P V
# names: dP multiplied by P

def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """(dV, dP) of O = P V: [S_q, S_k], [S_k, D], [S_q, D] → [S_k, D], [S_q, S_k]."""
    dv = p.T * do
    dp = p.multiply_elementwise(do * v.T)
    return dv, dp
