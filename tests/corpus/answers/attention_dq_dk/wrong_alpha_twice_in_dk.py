# label: wrong
# title: alpha twice in dK
# says: `q_scaled` already contains alpha, and dK is multiplied by alpha again: alpha² in dK. Use q, or leave
#   the second alpha out.
# names: alpha twice in dK; factor

def attention_dq_dk(
    q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr
) -> tuple[sp.Matrix, sp.Matrix]:
    q_scaled = alpha * q  # S = q_scaled * k.T
    dq = alpha * ds * k
    dk = alpha * ds.T * q_scaled
    return dq, dk
