# label: wrong
# title: dq dk with minus
# says: Both have the wrong sign.
# names: sign

def dq_dk_with_minus(q, k, ds, alpha):
    return -alpha * ds * k, -alpha * ds.T * q
