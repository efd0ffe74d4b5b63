# label: wrong
# title: dq dk without turning
# says: dS is not turned for dK.
# names: wrong shape; crashed; transposed

def dq_dk_without_turning(q, k, ds, alpha):
    return alpha * ds * k, alpha * ds * q
