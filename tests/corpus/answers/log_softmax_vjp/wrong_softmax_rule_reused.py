# label: wrong
# title: softmax rule reused
# says: line `return`: uses the softmax formula, p ∘ (dlog − sum dlog)
# names: times p

def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    total = sum(dlog)
    return sp.Matrix([p[i] * (dlog[i] - total) for i in range(p.rows)])
