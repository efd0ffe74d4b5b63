# label: wrong
# title: dp transposed
# says: `v * do.T` is dP transposed, [S_k, S_q]; it should be do * v.T
# names: transposed

def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    return p.T * do, v * do.T
