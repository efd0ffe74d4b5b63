# label: wrong
# title: alpha twice on dk
# says: dK is computed with the scaled query `qs` and multiplied by alpha again: alpha squared
# names: alpha twice in dK

def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    """(dQ, dK) of S = alpha Q Kᵀ: [S_q, D], [S_k, D], [S_q, S_k], a number → [S_q, D], [S_k, D]."""
    qs = alpha * q  # S = qs Kᵀ
    dq = alpha * ds * k
    dk = alpha * ds.T * qs
    return dq, dk
