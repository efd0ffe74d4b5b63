# label: wrong
# title: dk without alpha
# says: second value ds.T * q: alpha stands on dQ only, although S = alpha Q Kᵀ scales both gradients
# names: alpha forgotten in dK

def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    dscaled_q = ds * k
    return dscaled_q * alpha, ds.T * q
