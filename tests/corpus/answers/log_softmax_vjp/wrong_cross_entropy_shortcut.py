# label: wrong
# title: cross entropy shortcut
# says: returns dlog − p, which is right only where the entries of dlog sum to 1 (the cross-entropy shortcut);
#   the factor sum(dlog) on p is missing
# names: one class

def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    """ds for l = log softmax(s), from p = softmax(s) and dlog = ∂L/∂l: two columns [N, 1] → a column [N, 1]."""
    return dlog - p
