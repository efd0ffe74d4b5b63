# label: wrong
# title: jacobian as for a sigmoid
# says: Only the diagonal is there; a score moves the other probabilities, too.
# names: only the diagonal; missing off-diagonal

def jacobian_as_for_a_sigmoid(p):
    return sp.diag(*[q * (1 - q) for q in p])
