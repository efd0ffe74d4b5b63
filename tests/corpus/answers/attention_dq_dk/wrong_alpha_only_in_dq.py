# label: wrong
# title: alpha only in dq
# says: `dK = ds.T * q` lacks the factor alpha.
# names: alpha forgotten in dK

def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    dQ = (ds * k) * alpha
    dK = ds.T * q
    return dQ, dK
