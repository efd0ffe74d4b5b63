# label: wrong
# title: dk left transposed
# says: `alpha * q.T * ds` is dK transposed, [D, S_k]; it should be alpha * ds.T * q
# names: dK transposed

def attention_dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    dq = alpha * ds * k
    dk = alpha * q.T * ds
    return dq, dk
