# label: wrong
# title: undo the scale
# says: the line `raw = ds / alpha` undoes the scaling on the way back, where the gradient has to be
#   multiplied by alpha
# names: divided by alpha

def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    """(dQ, dK) of S = alpha Q Kᵀ: [S_q, D], [S_k, D], [S_q, S_k], a number → [S_q, D], [S_k, D]."""
    raw = ds / alpha  # gradient of the unscaled scores q k^T
    return raw * k, raw.T * q
