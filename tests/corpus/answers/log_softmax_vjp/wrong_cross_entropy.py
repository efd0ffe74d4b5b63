# label: wrong
# title: cross entropy
# says: the return line is the cross-entropy gradient 'p − y' with dlog put in for the one-hot y; right is
#   dlog − p·Σ dlog (this has the sign turned round and no sum)
# names: arguments exchanged; one class and the sign

def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    """ds for l = log softmax(s), from p = softmax(s) and dlog = ∂L/∂l: two columns [N, 1] → a column [N, 1]."""
    # the well-known one: softmax + log-likelihood gives prediction minus target
    return p - dlog
