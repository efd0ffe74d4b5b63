# label: wrong
# title: dq dk alpha twice
# says: alpha was multiplied in twice.
# names: alpha applied twice

def dq_dk_alpha_twice(q, k, ds, alpha):
    ds = alpha * ds
    return alpha * (ds * k), alpha * (ds.T * q)
