# label: wrong
# title: pair returned in the wrong order
# says: Both gradients are right, but the pair is returned as (dP, dV); asked for is (dV, dP). The shapes
#   [S_q, S_k] and [S_k, D] are exchanged.
# names: swapped; wrong shape

def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    # Y = X W with X = P and W = V: dX = dY W^T, dW = X^T dY
    dp = do * v.T
    dv = p.T * do
    return dp, dv
