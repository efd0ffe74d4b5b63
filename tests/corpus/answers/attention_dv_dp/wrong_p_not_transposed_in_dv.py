# label: wrong
# title: P not transposed in dV
# says: `p * do` multiplies [S_q, S_k] by [S_q, D]: the shapes do not fit unless S_q = S_k, and then it sums
#   over keys. A value collects from the queries: dV = p.T * do.
# names: one edit; crashed

def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dV = p * do
    dP = do * v.T
    return dV, dP
